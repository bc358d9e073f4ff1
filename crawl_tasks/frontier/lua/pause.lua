-- Pause a site, drain it, or let it go on. Paused, it keeps its requests and leases nothing; what is being fetched ends.
-- Drained, it begins no scan, and what is open is finished.
-- KEYS 1: key prefix
-- ARGV 1: site
-- ARGV 2: 2 to drain, 1 to pause, 0 to go on
-- RETURNS 0: {0, released}
-- RETURNS -1: the site is not published

local site = load_site(ARGV[1])
if not site then return {-1, 0} end
local now = now_ms()
redis.call('HSET', site.key, 'paused', ARGV[2] == '1' and 1 or 0)
if ARGV[2] == '2' then redis.call('HSET', site.key, 'draining', 1) else redis.call('HDEL', site.key, 'draining') end
redis.call('HDEL', site.key, 'paused_before')  -- of a recovery, which ends here
site.paused = load_site(ARGV[1]).paused
if ARGV[2] == '0' then
  for _, id in ipairs(redis.call('ZRANGE', site.key .. ':overdue', 0, CHUNK - 1)) do
    redis.call('ZADD', P .. ':boards', 'XX', now, site.name .. ' ' .. id)
  end
end
attend(site, now + 1000)
return {0, release(site, now)}
