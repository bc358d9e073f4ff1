-- Close an open circuit breaker by hand, when the kept pages are read well now. Tripped requests become ready again.
-- INCLUDES: lib/site lib/circuit_breaker lib/release
-- KEYS 1: key prefix
-- ARGV 1: site
-- ARGV 2: stage
-- RETURNS 0: {0, revived}
-- RETURNS -1: the site is not published

local site = load_site(ARGV[1])
if not site then return {-1, 0} end
local now = now_ms()
local revived = close_breaker(site, ARGV[2])
schedule_look(site, now)
release(site, now)
return {0, revived}
