-- Forget a site's ledger, guard and boards, some keys at a time, before recovery builds them anew. The site stays
-- unpublished, so that no lease is given and no old one ends, and paused for when it is published again.
-- KEYS 1: key prefix
-- ARGV 1: site
-- ARGV 2: cursor, 0 to begin
-- RETURNS 0: {0, next cursor (0 when all is forgotten), 1 when an operator had paused the site}

local key = P .. ':s:' .. ARGV[1]
if ARGV[2] == '0' then
  for _, id in ipairs(redis.call('SMEMBERS', key .. ':boards')) do  -- bounded by the site file
    redis.call('ZREM', P .. ':boards', ARGV[1] .. ' ' .. id)
  end
  redis.call('HDEL', P .. ':sites', ARGV[1])
  redis.call('ZREM', P .. ':due', ARGV[1])
  -- Begun again after it was cut short, it finds its own pause: what the operator wanted stands beside it.
  local v = redis.call('HMGET', key, 'paused_before', 'paused')
  redis.call('UNLINK', key)
  redis.call('HSET', key, 'paused', 1, 'paused_before', v[1] or v[2] or 0, 'fence', now_ms())
end
note_change({name = ARGV[1]})
local page = redis.call('SCAN', ARGV[2], 'MATCH', key .. ':*', 'COUNT', CHUNK)
for _, name in ipairs(page[2]) do redis.call('UNLINK', name) end
return {0, page[1], tonumber(redis.call('HGET', key, 'paused_before'))}
