-- Open a shut stage by hand: the pages that were kept are read well now. What the breaker parked becomes ready again.
-- KEYS 1: key prefix
-- ARGV 1: site
-- ARGV 2: stage
-- RETURNS 0: {0, revived}
-- RETURNS -1: the site is not published

local site = load_site(ARGV[1])
if not site then return {-1, 0} end
local now = now_ms()
local revived = open_stage(site, ARGV[2])
attend(site, now)
release(site, now)
return {0, revived}
