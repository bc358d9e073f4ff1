-- Take the right to rebuild lost ledgers, keep it, or give it back. One caller has it; a dead one loses it.
-- KEYS 1: key prefix
-- ARGV 1: caller
-- ARGV 2: ms for which it has the right from now on, 0 to give it back
-- RETURNS 0: {0, ''}, the caller has it, or has given it back
-- RETURNS 1: {1, who has it}

local key = P .. ':rebuilder'
local holder = redis.call('GET', key)
if holder and holder ~= ARGV[1] then return {1, holder} end
if ARGV[2] == '0' then
  redis.call('DEL', key)
else
  redis.call('SET', key, ARGV[1], 'PX', ARGV[2])
end
return {0, ''}
