-- Reserve another slot for the holder of a lease, who missed the slot before or sends one more request. An unused slot
-- that is the newest of the site is moved. All others wait behind the newest slot.
-- INCLUDES: lib/site lib/release lib/slots
-- KEYS 1: key prefix
-- ARGV 1: site
-- ARGV 2: rid
-- ARGV 3: token
-- ARGV 4: late: nothing was sent in the slot. next: something was. sent: a request left late, and moves the next slot
-- ARGV 5: ms from now until the caller can send. With sent: the negative time since the request left
-- ARGV 6: ms by which the caller may send late
-- ARGV 7: 1 where this lateness is to be counted: once an attempt, else 0
-- RETURNS 0: {0, now in us, beginning and end of the slot in ms}
-- RETURNS -1: the site is not published
-- RETURNS -2: the lease is not the caller's any more, and nothing was changed
-- RETURNS -3: the site rests by now, or for longer than a worker waits, and nothing was changed

local LONGEST = 30000  -- ms that a worker waits at the most: of a longer delay the rest comes after the request

local site = load_site(ARGV[1])
if not site then return {-1, 0, 0, 0} end
local now, rid = now_ms(), ARGV[2]
local token = string.match(redis.call('HGET', site.key .. ':open', rid) or '', '^(%d+) ')
if token ~= ARGV[3] then return {-2, 0, 0, 0} end

local v = redis.call('HMGET', site.key, 'next_at', 'turn')
local next_at = tonumber(v[1] or 0)  -- not site.next_at: nobody waits for the end of the quiet hours
if ARGV[7] == '1' then tally(site, 'late_slots', 1) end
if ARGV[4] == 'next' then tally(site, 'further', 1) end
note_change(site)
if site.delay <= 0 then  -- no slots: the request is only counted
  if site.terms.daily_budget > 0 then spend(site, now) end
  return {0, now_us(), now, now}
end
if ARGV[4] == 'sent' then
  if next_at < now + ARGV[5] + site.delay then reserve(site, token, now + ARGV[5], 0) end
  return {0, now_us(), now, now}
end
local ready = now + ARGV[5]
local begins = ARGV[4] == 'late' and has_newest_slot(v, token) and ready or math.max(ready, next_at)
if begins - now > site.delay + LONGEST then return {-3, 0, 0, 0} end
local opens = math.min(begins, now + LONGEST)
local ends = reserve(site, token, begins, math.min(ARGV[6], WIDEST)) - (begins - opens)
if ARGV[4] == 'next' and site.terms.daily_budget > 0 then spend(site, now) end
redis.call('ZADD', site.key .. ':leased', 'XX', ends + site.terms.lease_ms, rid)
return {0, now_us(), math.ceil(opens), math.floor(ends)}
