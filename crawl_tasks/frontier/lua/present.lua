-- Say that a process is alive and which queues it serves, or that it ends. Who says nothing for a minute is forgotten.
-- KEYS 1: key prefix
-- ARGV 1: name of the process
-- ARGV 2: queues it serves, comma-separated; '' when it ends
-- RETURNS 0: {0, processes alive}

local now = now_ms()
if ARGV[2] == '' then
  redis.call('ZREM', P .. ':alive', ARGV[1])
  redis.call('HDEL', P .. ':serves', ARGV[1])
else
  redis.call('ZADD', P .. ':alive', now, ARGV[1])
  redis.call('HSET', P .. ':serves', ARGV[1], ARGV[2])
end
for _, name in ipairs(redis.call('ZRANGE', P .. ':alive', '-inf', now - 60000, 'BYSCORE', 'LIMIT', 0, CHUNK)) do
  redis.call('ZREM', P .. ':alive', name)
  redis.call('HDEL', P .. ':serves', name)
end
return {0, redis.call('ZCARD', P .. ':alive')}
