-- Keep a reading of all sites, for the charts of the next exporter or for rates, of several processes one at a time.
-- INCLUDES: lib/site
-- KEYS 1: key prefix
-- ARGV 1: the reading, packed
-- ARGV 2: least ms between two readings
-- ARGV 3: most readings
-- ARGV 4: charts or marks
-- RETURNS 0: {0, 1 when the reading was kept}

local key, now = P .. ':' .. ARGV[4], now_ms()
local last = redis.call('LINDEX', key, -1)
if last and now - tonumber(string.match(last, '^%d+')) < tonumber(ARGV[2]) then return {0, 0} end
redis.call('RPUSH', key, string.format('%.0f', now) .. ' ' .. ARGV[1])
redis.call('LTRIM', key, -tonumber(ARGV[3]), -1)
redis.call('PEXPIRE', key, 2 * ARGV[2] * ARGV[3])
return {0, 1}
