-- Note a page behind a login that does not say who asked for it, or have its caller look at the check page, which is
-- due after each 200 such pages. Behind a session that ended unseen it is due after 1, 2, 4, 8 pages and so on, until
-- the check after 200 shows a member. Pages of a session before this one are entered again: nobody checks it.
-- INCLUDES: lib/site lib/pending_pages lib/release
-- FLAGS: allow-oom
-- KEYS 1: key prefix
-- ARGV 1: site
-- ARGV 2: token of the session
-- ARGV 3: line that enters the page again
-- RETURNS 0: {0}: the page is noted
-- RETURNS 1: {1, number of the last page that is noted}: the check page is due, and proves the pages up to that number.
--   The page itself is not noted
-- RETURNS -1: the site is not published

local CHECK_TAKES = 30000  -- ms. Until then one caller looks at the check page for all

local site = load_site(ARGV[1])
if not site then return {-1} end
local key, now = site.key .. ':session', now_ms()
local lines, before, token = pending_of(site)
if token ~= ARGV[2] then
  keep_pending(site, lines, #lines, before)
  read_again(site, lines, now)
  release(site, now)
  before, lines = before + #lines, {}
  local after = redis.call('HEXISTS', key, 'ended_unseen') == 1 and 1 or CHECK_AFTER
  redis.call('HSET', key, 'pending_of', ARGV[2], 'check_after', after)
  redis.call('HDEL', key, 'check_until')
end
local v = redis.call('HMGET', key, 'check_after', 'check_now', 'check_until')
local is_due = #lines + 1 >= tonumber(v[1] or CHECK_AFTER) and now >= tonumber(v[3] or 0)
if v[2] or is_due then
  redis.call('HSET', key, 'check_until', string.format('%.0f', now + CHECK_TAKES))
  return {1, before + #lines}
end
lines[#lines + 1] = ARGV[3]
redis.call('HSET', key, 'pending', cjson.encode(lines))
return {0}
