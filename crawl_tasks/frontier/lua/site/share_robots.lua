-- Cache a robots.txt for all processes, until it expires.
-- INCLUDES: lib/site
-- KEYS 1: key prefix
-- ARGV 1: origin, as scheme://host:port
-- ARGV 2: text
-- ARGV 3: ms for which it holds
-- RETURNS 0: {0}

redis.call('SET', P .. ':robots:' .. ARGV[1], ARGV[2], 'PX', ARGV[3])
return {0}
