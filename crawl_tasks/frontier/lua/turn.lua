-- Give the holder of a lease another turn at the gate: the lease's own, or the one before, came too early for what it sends
-- now. The next turn begins a delay after this one. Who has the newest turn of all and did not use it has it moved to now.
-- KEYS 1: key prefix
-- ARGV 1: site
-- ARGV 2: rid
-- ARGV 3: token
-- ARGV 4: late, where nothing was sent in the turn; next, where something was; sent, to have what was sent just now, late, heeded
-- RETURNS 0: {0, ms to wait before sending}
-- RETURNS -1: the site is not published
-- RETURNS -2: the lease is not the caller's any more; nothing was changed
-- RETURNS -3: the site rests by now, or for longer than anybody waits; nothing was changed

local LONGEST = 30000  -- ms that a worker is held up; behind a longer delay the pause comes after the request

local site = load_site(ARGV[1])
if not site then return {-1, 0} end
local now, rid = now_ms(), ARGV[2]
local token = string.match(redis.call('HGET', site.key .. ':open', rid) or '', '^(%d+) ')
if token ~= ARGV[3] then return {-2, 0} end

local v = redis.call('HMGET', site.key, 'next_at', 'turn')
local begins = math.max(now, tonumber(v[1] or 0))  -- not site.next_at: nobody waits for the end of the quiet hours
if ARGV[4] == 'late' and v[2] == token and begins - now <= site.delay then begins = now end  -- else it is a rest
if ARGV[4] == 'sent' then
  begins = math.max(now, begins - site.delay)
elseif begins - now > site.delay + LONGEST then
  return {-3, 0}
end
redis.call('HSET', site.key, 'next_at', string.format('%.0f', begins + site.delay), 'turn', token)
if ARGV[4] == 'next' and site.daily_budget > 0 then spend(site, now) end
local wait = ARGV[4] == 'sent' and 0 or math.min(begins - now, LONGEST)
if wait > 0 then redis.call('ZADD', site.key .. ':leased', 'XX', now + wait + site.lease, rid) end
note_change(site)
return {0, math.ceil(wait)}
