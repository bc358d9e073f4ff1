-- Note the heartbeat of a process with its queues, or its end. A process without a heartbeat for a minute is forgotten.
-- KEYS 1: key prefix
-- ARGV 1: name of the process
-- ARGV 2: its queues, comma-separated, or '' when it ends
-- ARGV 3: its start key, or ''
-- RETURNS 0: {0, processes alive}

local now = now_ms()
if ARGV[2] == '' then
  redis.call('ZREM', P .. ':alive', ARGV[1])
  redis.call('HDEL', P .. ':serves', ARGV[1])
  redis.call('HDEL', P .. ':reads', ARGV[1])
else
  redis.call('ZADD', P .. ':alive', now, ARGV[1])
  redis.call('HSET', P .. ':serves', ARGV[1], ARGV[2])
  if ARGV[3] ~= '' then redis.call('HSET', P .. ':reads', ARGV[1], ARGV[3]) end
end
for _, name in ipairs(redis.call('ZRANGE', P .. ':alive', '-inf', now - 60000, 'BYSCORE', 'LIMIT', 0, CHUNK)) do
  redis.call('ZREM', P .. ':alive', name)
  redis.call('HDEL', P .. ':serves', name)
  redis.call('HDEL', P .. ':reads', name)
end
return {0, redis.call('ZCARD', P .. ':alive')}
