-- Flush the duplicate guard of a site, some keys at a time, by an operator's decision: every page that is listed is new
-- again. The tails of threads and the validators of boards go too, so that threads and lists are read whole. Ticks go
-- on where the caller died.
-- INCLUDES: lib/site guard/tables lib/decisions
-- FLAGS: allow-oom
-- KEYS 1: key prefix
-- ARGV 1: site
-- ARGV 2: cursor, 0 to begin. The site itself knows where the flush stands
-- ARGV 3: who decided
-- ARGV 4: why
-- RETURNS 0: {0, next cursor (0 at the end)}
-- RETURNS -1: the site is not published

local site = load_site(ARGV[1])
if not site then return {-1, '0'} end
if ARGV[2] == '0' then
  decisions.decide(site.name, 'guard', 'flushed', ARGV[3], ARGV[4])
  begin_flush(site)
end
note_change(site)
return {0, flush_some(site)}
