-- Withdraw a site whose file has left the directory that published it: it begins no scan, and finishes its open
-- requests. A site that another directory published is left alone.
-- INCLUDES: lib/site lib/decisions
-- FLAGS: allow-oom
-- KEYS 1: key prefix
-- ARGV 1: site
-- ARGV 2: publisher, as host:directory
-- ARGV 3: who found the file gone
-- RETURNS 0: {0, 1 when the site was withdrawn now, else 0}
-- RETURNS -1: the site is not published

local site = load_site(ARGV[1])
if not site then return {-1, 0} end
if site.is_withdrawn or redis.call('HGET', site.key, 'publisher') ~= ARGV[2] then return {0, 0} end
decisions.decide(site.name, 'file', 'gone', ARGV[3], ARGV[2])
redis.call('HSET', site.key, 'withdrawn', 1)
redis.call('UNLINK', site.key .. ':overdue')
note_change(site)
return {0, 1}
