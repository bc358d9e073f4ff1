-- Write parts of the keys of a frozen site. A part that was written before changes nothing.
-- INCLUDES: lib/site
-- KEYS 1: key prefix
-- ARGV 1: site
-- ARGV 2: token of the mover
-- ARGV 3: arriving, or leaving for a site that stays where it is
-- ARGV 4..: of each part the key behind the prefix, its type, when it expires (ms, or 0), the elements of a list or the
--   bytes of a string before this part, the number of values and the values: member and score of a sorted set, field
--   and value of a hash
-- RETURNS 0: {0}
-- RETURNS 1: {1}, another mover has taken over
-- RETURNS 2: {2}, a list or a string has other contents than the parts before gave it

if not holds_move(ARGV[3], ARGV[1], ARGV[2]) then return {1} end
local WRITE = {string = 'APPEND', list = 'RPUSH', set = 'SADD', hash = 'HSET', zset = 'ZADD'}
local at = 4
while ARGV[at] do
  local key, kind, expires = P .. ':' .. ARGV[at], ARGV[at + 1], ARGV[at + 2]
  local before, count = tonumber(ARGV[at + 3]), tonumber(ARGV[at + 4])
  local values = {unpack(ARGV, at + 5, at + 4 + count)}
  if kind == 'zset' then
    for i = 1, count, 2 do values[i], values[i + 1] = values[i + 1], values[i] end
  end
  local length, added = before, count
  if kind == 'list' then length = redis.call('LLEN', key) end
  if kind == 'string' then length, added = redis.call('STRLEN', key), #values[1] end
  if length == before then
    redis.call(WRITE[kind], key, unpack(values))
  elseif length ~= before + added then
    return {2}
  end
  if expires ~= '0' then redis.call('PEXPIREAT', key, expires) end
  at = at + 5 + count
end
return {0}
