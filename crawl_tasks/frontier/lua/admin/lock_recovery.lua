-- Take, extend or release the recovery lock, the right to rebuild lost ledgers. One caller holds it, a dead one loses
-- it.
-- INCLUDES: lib/site
-- KEYS 1: key prefix
-- ARGV 1: caller
-- ARGV 2: ms for which the caller holds the lock from now on, as all callers do, 0 to release it
-- RETURNS 0: {0, ''}, the caller holds the lock, or has released it
-- RETURNS 1: {1, holder}, another caller holds the lock

local key = P .. ':rebuilder'
local holder = redis.call('GET', key)
-- A lock that lasts longer than callers take it is of before Redis' clock was set back.
local is_held = holder and holder ~= ARGV[1] and (ARGV[2] == '0' or redis.call('PTTL', key) <= tonumber(ARGV[2]))
if is_held then return {1, holder} end
if ARGV[2] == '0' then
  redis.call('DEL', key)
else
  redis.call('SET', key, ARGV[1], 'PX', ARGV[2])
end
return {0, ''}
