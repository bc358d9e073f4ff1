-- Note the heartbeat of a process with its queues, or its end. A process without a heartbeat for a minute is forgotten.
-- `births` holds the first heartbeat of each process that has not ended in order, as "name birth", or when it is due.
-- The last quarter of an hour of it shows who died. In containers, all processes may have one name.
-- INCLUDES: lib/site
-- KEYS 1: key prefix
-- ARGV 1: name of the process
-- ARGV 2: its queues, comma-separated, '?' when it begins and serves none yet, or '' when it ends
-- ARGV 3: its start key, or ''
-- ARGV 4: its version, or ''
-- ARGV 5: its clock in ms since the epoch
-- ARGV 6: a word that no process before had
-- RETURNS 0: {0, processes alive}

local LASTS = 900000
local BEGINS_IN = 30000  -- a worker on a busy machine takes some seconds from its start to its first heartbeat

local now, name, birth = now_ms(), ARGV[1], ARGV[1] .. ' ' .. ARGV[6]
local function forget(process)
  redis.call('ZREM', P .. ':alive', process)
  redis.call('HDEL', P .. ':serves', process)
  redis.call('HDEL', P .. ':reads', process)
  redis.call('HDEL', P .. ':facts', process)
end

if ARGV[2] == '' then
  forget(name)
  redis.call('ZREM', P .. ':births', birth)
elseif ARGV[2] == '?' then
  redis.call('ZADD', P .. ':births', now + BEGINS_IN, birth)
  redis.call('HINCRBY', P .. ':stats', 'worker_starts', 1)
else
  local is_known = string.match(redis.call('HGET', P .. ':facts', name) or '', '^%S+ (%S*)') == ARGV[6]
  if redis.call('ZADD', P .. ':alive', now, name) == 1 or not is_known then
    if redis.call('ZADD', P .. ':births', now, birth) == 1 then
      redis.call('HINCRBY', P .. ':stats', 'worker_starts', 1)
    end
  end
  redis.call('HSET', P .. ':serves', name, ARGV[2])
  if ARGV[3] ~= '' then redis.call('HSET', P .. ':reads', name, ARGV[3]) end
  redis.call('HSET', P .. ':facts', name, string.format('%.0f %s %s', ARGV[5] - now, ARGV[6], ARGV[4]))
end
for _, process in ipairs(redis.call('ZRANGE', P .. ':alive', '-inf', now - 60000, 'BYSCORE', 'LIMIT', 0, CHUNK)) do
  forget(process)
end
redis.call('ZREMRANGEBYSCORE', P .. ':births', '-inf', now - LASTS)
return {0, redis.call('ZCARD', P .. ':alive')}
