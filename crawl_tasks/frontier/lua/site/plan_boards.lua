-- Put boards of a site that has moved on the schedule of this cell, as they stood on the schedule of the other.
-- INCLUDES: lib/site
-- KEYS 1: key prefix
-- ARGV 1: site
-- ARGV 2: most boards of each kind
-- RETURNS 0: {0, 1 when more may be left}

local more = 0
note_change({name = ARGV[1]})
for _, name in ipairs({'boards', 'fulls'}) do
  local planned = redis.call('ZPOPMIN', P .. ':s:' .. ARGV[1] .. ':moved_' .. name, ARGV[2])
  for i = 1, #planned, 2 do redis.call('ZADD', P .. ':' .. name, 'NX', planned[i + 1], ARGV[1] .. ' ' .. planned[i]) end
  if #planned > 0 then more = 1 end
end
return {0, more}
