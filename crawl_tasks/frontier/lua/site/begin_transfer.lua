-- Begin the move of a site to another cell, or go on with one that was cut off: nothing of the site is leased any more,
-- and pages that are being fetched end. The caller's token shuts out an earlier mover.
-- INCLUDES: lib/site
-- FLAGS: allow-oom
-- KEYS 1: key prefix
-- ARGV 1: site
-- ARGV 2: token of the mover
-- ARGV 3: name of the other cell
-- RETURNS 0: {0, requests leased, or 1 while its guard is being flushed, 1 when the site is frozen already}
-- RETURNS -1: the site is neither published here nor on its way from here

local key = P .. ':s:' .. ARGV[1]
local is_frozen = redis.call('EXISTS', key .. ':frozen')
local is_leaving = redis.call('HEXISTS', P .. ':leaving', ARGV[1]) == 1
if not is_leaving and redis.call('HEXISTS', P .. ':sites', ARGV[1]) == 0 then return {-1, 0, 0} end
redis.call('HSET', P .. ':leaving', ARGV[1], ARGV[2] .. ' ' .. ARGV[3])
note_change({name = ARGV[1]})
local waits_for = redis.call('ZCARD', key .. ':leased') + redis.call('HEXISTS', key, 'flushing')
return {0, waits_for, is_frozen}
