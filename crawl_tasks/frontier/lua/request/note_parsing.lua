-- Note that the page of a lease is there and is read now, by half a millisecond in the lease's deadline. A request whose lease
-- runs out meanwhile is parked: it would cost the next worker the same (tick.lua).
-- KEYS 1: key prefix
-- ARGV 1: site
-- ARGV 2: rid
-- ARGV 3: token
-- RETURNS 0: {0}
-- RETURNS -1: the site is not published
-- RETURNS -2: the lease is not the caller's any more, and nothing was changed

local site = load_site(ARGV[1])
if not site then return {-1} end
local token = string.match(redis.call('HGET', site.key .. ':open', ARGV[2]) or '', '^(%d+) ')
local deadline = redis.call('ZSCORE', site.key .. ':leased', ARGV[2])
if token ~= ARGV[3] or not deadline then return {-2} end
redis.call('ZADD', site.key .. ':leased', string.format('%.1f', math.floor(deadline) + 0.5), ARGV[2])
note_change(site)
return {0}
