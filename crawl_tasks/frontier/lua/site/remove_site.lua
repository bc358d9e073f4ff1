-- Remove a site by an operator's decision: it is published no more, so that nothing of it is leased, committed or scanned.
-- wipe_site.lua then deletes its keys.
-- FLAGS: allow-oom
-- KEYS 1: key prefix
-- ARGV 1: site
-- ARGV 2: who decided
-- ARGV 3: why
-- RETURNS 0: {0, 1 when the site was published, else 0}
-- RETURNS -1: no such site is published, and none was removed

local was_published = redis.call('HDEL', P .. ':sites', ARGV[1])
if was_published == 0 and decisions.value(ARGV[1], 'site') ~= 'removed' then return {-1, 0} end
if decisions.value(ARGV[1], 'site') ~= 'removed' then decisions.decide(ARGV[1], 'site', 'removed', ARGV[2], ARGV[3]) end
return {0, was_published}
