-- End the removal of a site, when what is stored of it has been erased: it may be published again.
-- INCLUDES: lib/site lib/decisions
-- FLAGS: allow-oom
-- KEYS 1: key prefix
-- ARGV 1: site
-- ARGV 2: token of the removal
-- ARGV 3: the erasure as the database noted it, see decisions.lua, or ''
-- RETURNS 0: {0}
-- RETURNS 1: {1}, another command has taken over

if decisions.underway(ARGV[1]) ~= ARGV[2] then return {1} end
-- The next site of this name begins behind it.
if ARGV[3] ~= '' then redis.call('HSET', decisions.key(ARGV[1]), 'data', ARGV[3]) end
redis.call('HDEL', P .. ':underway', ARGV[1])
return {0}
