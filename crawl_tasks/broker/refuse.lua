-- Reject a message that no worker can read: keep it aside with the reason. The newest thousand are kept.
-- KEYS 1: list of rejected messages, KEYS 2: unacked hash, KEYS 3: unacked index
-- ARGV 1: queue and reason
-- ARGV 2: message
-- RETURNS 0: {0}

local tag = string.match(ARGV[2], '"delivery_tag": ?"([^"]+)"')
if tag then
  redis.call('HDEL', KEYS[2], tag)
  redis.call('ZREM', KEYS[3], tag)
end
redis.call('LPUSH', KEYS[1], ARGV[1] .. '\n' .. ARGV[2])
redis.call('LTRIM', KEYS[1], 0, 999)
return {0}
