-- Let only some sites run, while one command serves this Redis alone. The others stand still as if paused, and go on
-- when the time is over. No decision of an operator is touched.
-- INCLUDES: lib/site
-- FLAGS: allow-oom
-- KEYS 1: key prefix
-- ARGV 1: ms from now, ONLY_MS at most, 0 to let all sites go on
-- ARGV 2..: sites
-- RETURNS 0: {0, sites that may run, 0 for all}

redis.call('DEL', P .. ':only')
if ARGV[1] == '0' or #ARGV < 2 then return {0, 0} end
for i = 2, #ARGV, CHUNK do redis.call('SADD', P .. ':only', unpack(ARGV, i, math.min(i + CHUNK - 1, #ARGV))) end
redis.call('PEXPIRE', P .. ':only', math.min(ARGV[1], ONLY_MS))
return {0, #ARGV - 1}
