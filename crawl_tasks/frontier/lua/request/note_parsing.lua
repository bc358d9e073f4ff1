-- Note that the page of a lease is there and is read now, by half a millisecond in the lease's deadline, if an earlier lease of
-- the request ran out. When this one runs out as well, the request is parked: it would cost the next worker the same (tick.lua).
-- An earlier attempt that failed in another way says nothing about the worker.
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
if redis.call('SISMEMBER', site.key .. ':overrun', ARGV[2]) == 1 then
  redis.call('ZADD', site.key .. ':leased', string.format('%.1f', math.floor(deadline) + 0.5), ARGV[2])
  note_change(site)
end
return {0}
