-- Set the Crawl-delay of a site's robots.txt. The greater of this and the file's delay holds, for all workers.
-- INCLUDES: lib/site
-- KEYS 1: key prefix
-- ARGV 1: site
-- ARGV 2: Crawl-delay in ms, 0 where there is none
-- RETURNS 0: {0, delay in ms that holds now}
-- RETURNS -1: the site is not published

local site = load_site(ARGV[1])
if not site then return {-1, 0} end
local now = now_ms()
if ARGV[2] == '0' then
  redis.call('HDEL', site.key, 'crawl_delay_ms')
else
  redis.call('HSET', site.key, 'crawl_delay_ms', ARGV[2])
end
site = load_site(ARGV[1])
-- The request for the page in hand reserved the next slot by the old delay.
if site.delay > 0 and now + site.delay > site.next_at then
  redis.call('HSET', site.key, 'next_at', string.format('%.0f', now + site.delay))
end
note_change(site)
return {0, math.floor(site.delay)}
