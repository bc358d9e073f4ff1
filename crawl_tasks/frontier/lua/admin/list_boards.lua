-- List some boards of a site with their schedule.
-- INCLUDES: lib/site
-- FLAGS: no-writes
-- KEYS 1: key prefix
-- ARGV 1: site
-- ARGV 2: cursor, 0 to begin
-- ARGV 3: number of boards
-- ARGV 4..: fields of a board
-- RETURNS 0: {0, next cursor (0 at the end), a board, ...}, each one text: id, due time or '', then the fields, ''
--   without a value. NUL stands between them

local key = P .. ':s:' .. ARGV[1]
local page = redis.call('SSCAN', key .. ':boards', ARGV[2], 'COUNT', ARGV[3])
local boards = {}
for i, id in ipairs(page[2]) do
  local values = redis.call('HMGET', key .. ':board:' .. id, unpack(ARGV, 4))
  for j = 1, #ARGV - 3 do values[j] = values[j] or '' end
  boards[i] = table.concat({id, redis.call('ZSCORE', P .. ':boards', ARGV[1] .. ' ' .. id) or '', unpack(values)}, '\0')
end
return {0, page[1], unpack(boards)}
