-- Let a mover bring a site to this cell. Its token shuts out an earlier mover.
-- INCLUDES: lib/site
-- KEYS 1: key prefix
-- ARGV 1: site
-- ARGV 2: token of the mover
-- RETURNS 0: {0}
-- RETURNS 1: {1}, the site is published here: it has arrived
-- RETURNS 2: {2}, the site has not left this cell itself

if redis.call('HEXISTS', P .. ':sites', ARGV[1]) == 1 then return {1} end
if redis.call('HEXISTS', P .. ':leaving', ARGV[1]) == 1 then return {2} end
redis.call('HSET', P .. ':arriving', ARGV[1], ARGV[2])
return {0}
