-- Note what the check page of a session showed. A member's proves the pages before it, a guest's has all be entered
-- again that no check proved. Pages of another session stay as they are.
-- INCLUDES: lib/site lib/pending_pages lib/release
-- FLAGS: allow-oom
-- KEYS 1: key prefix
-- ARGV 1: site
-- ARGV 2: token of the session
-- ARGV 3: 1 for a member's, 0 for a guest's
-- ARGV 4: number of the last page that a member's proves, as note_pending.lua gives it
-- RETURNS 0: {0, pages that are entered again}
-- RETURNS -1: the site is not published

local site = load_site(ARGV[1])
if not site then return {-1} end
local key, now = site.key .. ':session', now_ms()
local lines, before, token = pending_of(site)
if token ~= ARGV[2] then return {0, 0} end
if ARGV[3] == '1' then
  local proven = math.max(0, math.min(#lines, ARGV[4] - before))
  keep_pending(site, lines, proven, before)
  local after = tonumber(redis.call('HGET', key, 'check_after') or CHECK_AFTER)
  redis.call('HSET', key, 'check_after', math.min(after * 2, CHECK_AFTER), 'checked_at', string.format('%.0f', now))
  redis.call('HDEL', key, 'check_now', 'check_until')
  if after >= CHECK_AFTER then redis.call('HDEL', key, 'ended_unseen') end
  return {0, 0}
end
keep_pending(site, lines, #lines, before)
if #lines > 0 then redis.call('HSET', key, 'ended_unseen', 1) end
read_again(site, lines, now)
release(site, now)
return {0, #lines}
