-- Give the holder of a lease another turn at the gate: it missed the one before, or sends one more request. Who has the newest
-- turn of all and did not use it has it moved; the others wait behind all turns that were given.
-- KEYS 1: key prefix
-- ARGV 1: site
-- ARGV 2: rid
-- ARGV 3: token
-- ARGV 4: late, where nothing was sent in the turn; next, where something was; sent, to have what was sent just now, late, heeded
-- ARGV 5: ms from now on until the caller can send; of what was sent, negative, since then
-- ARGV 6: ms for which it may be late with it
-- RETURNS 0: {0, now in us, when the turn begins and when it ends in ms}
-- RETURNS -1: the site is not published
-- RETURNS -2: the lease is not the caller's any more; nothing was changed
-- RETURNS -3: the site rests by now, or for longer than anybody waits; nothing was changed

local LONGEST = 30000  -- ms that a worker is held up; behind a longer delay the pause comes after the request

local site = load_site(ARGV[1])
if not site then return {-1, 0, 0, 0} end
local now, rid = now_ms(), ARGV[2]
local token = string.match(redis.call('HGET', site.key .. ':open', rid) or '', '^(%d+) ')
if token ~= ARGV[3] then return {-2, 0, 0, 0} end

local v = redis.call('HMGET', site.key, 'next_at', 'turn')
local next_at = tonumber(v[1] or 0)  -- not site.next_at: nobody waits for the end of the quiet hours
if ARGV[4] ~= 'next' then tally(site, 'late_turns', 1) end
note_change(site)
if ARGV[4] == 'sent' then
  if next_at < now + ARGV[5] + site.delay then reserve(site, token, now + ARGV[5], 0) end
  return {0, now_us(), now, now}
end
local ready = now + ARGV[5]
local begins = ARGV[4] == 'late' and is_newest(v, token) and ready or math.max(ready, next_at)
if begins - now > site.delay + LONGEST then return {-3, 0, 0, 0} end
local opens = math.min(begins, now + LONGEST)
local ends = reserve(site, token, begins, math.min(ARGV[6], WIDEST)) - (begins - opens)
if ARGV[4] == 'next' and site.daily_budget > 0 then spend(site, now) end
redis.call('ZADD', site.key .. ':leased', 'XX', ends + site.lease, rid)
return {0, now_us(), math.ceil(opens), math.floor(ends)}
