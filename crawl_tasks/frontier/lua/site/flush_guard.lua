-- Flush the duplicate guard of a site, some keys at a time, by an operator's decision: every page that is listed is new again.
-- The tails of threads and the validators of boards go too, so that threads and lists are read whole.
-- FLAGS: allow-oom
-- KEYS 1: key prefix
-- ARGV 1: site
-- ARGV 2: cursor, 0 to begin
-- ARGV 3: who decided
-- ARGV 4: why
-- RETURNS 0: {0, next cursor (0 at the end)}
-- RETURNS -1: the site is not published

local site = load_site(ARGV[1])
if not site then return {-1, '0'} end
if ARGV[2] == '0' then
  decisions.decide(site.name, 'guard', 'flushed', ARGV[3], ARGV[4])
  -- From now on the tables have other names, so that none of what is admitted meanwhile is deleted.
  site.flushes = redis.call('HINCRBY', site.key, 'flushes', 1)
  redis.call('UNLINK', site.key .. ':seen', site.key .. ':guard')
end
local page = redis.call('SCAN', ARGV[2], 'MATCH', site.key .. ':*', 'COUNT', 500)
for _, key in ipairs(page[2]) do
  local kind, rest = string.match(string.sub(key, #site.key + 1), '^:(%a+):(.*)$')
  local is_old = kind == 'seen' and string.match(rest, '#(%d+)') ~= tostring(site.flushes)
  if is_old or kind == 'g' or kind == 'tail' then redis.call('UNLINK', key) end
  if kind == 'board' then redis.call('HDEL', key, 'validator') end
end
note_change(site)
return {0, page[1]}
