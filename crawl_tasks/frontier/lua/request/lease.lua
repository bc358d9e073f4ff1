-- Lease a released request to the caller, with a fencing token, if the gate lets one more go now. The attempt is counted
-- here, before the work. A request that the gate refuses stands first in its ready list again.
-- KEYS 1: key prefix
-- ARGV 1: site
-- ARGV 2: rid
-- ARGV 3: ms from now until the caller can send
-- ARGV 4: ms by which the caller may send late
-- RETURNS 0: {0, token, attempt, entry, site version, tail page of the thread, deadline in ms, validator or '',
--   delay between two requests in ms, now in us, beginning and end of the slot in ms}, without a slot where the delay is 0
-- RETURNS -1: the site is not published
-- RETURNS -2: no such request is open: done, dead or never admitted
-- RETURNS -3: another worker holds it
-- RETURNS -4: the site is paused
-- RETURNS -5: the window is full
-- RETURNS -6: too early for the site's rate
-- RETURNS -7: the outbox is full (backpressure of the store)
-- RETURNS -8: the circuit breaker is open, and it is not time for a probe

local site = load_site(ARGV[1])
if not site then return {-1} end
local rid, now = ARGV[2], now_ms()
local held = redis.call('HGET', site.key .. ':open', rid)
if not held then return {-2} end
local token, stage, level, attempt, rest = string.match(held, '^(%d+) (%a+) (%d) (%d+) (.*)$')
if token ~= '0' then return {-3} end

local refusal = (site.paused and -4)
  or (redis.call('ZCARD', site.key .. ':leased') >= site.window and -5)
  or (site.next_at > now + (site.delay > 0 and AHEAD or 0) and -6)
  or (store_is_behind() and -7)
  or ((probe_at(site, stage) or 0) > now and -8)
if refusal then
  tally(site, 'refused:' .. refusal, 1)
  redis.call('ZREM', site.key .. ':released:' .. stage, rid)
  redis.call('HDEL', site.key .. ':open', rid)
  return_ready(site, rid .. ' ' .. stage .. ' ' .. level .. ' ' .. attempt .. ' ' .. rest)
  schedule_look(site, math.max(site.next_at - site.lead, now + (refusal == -7 and 1000 or 50)))
  note_change(site)
  return {refusal}
end

if site.open_breakers[stage] then
  -- The next probe, if this one's worker dies. At a site that refuses requests the result of a probe plans the next one.
  local wait = refusal_of(site, stage) and math.min(site.probe, 2 * site.lease) or site.probe
  plan_probe(site, stage, now + wait, rid)
end
attempt = attempt + 1
local begins, ends = math.max(site.next_at, now + ARGV[3]), 0
if site.daily_budget > 0 then spend(site, site.delay > 0 and begins or now) end
-- A token is a time or above, so that a Redis that lost its last writes gives no token a second time, and so that tokens
-- order the observations made under them.
token = string.format('%.0f', math.max(now, (redis.call('HGET', site.key, 'fence') or 0) + 1))
redis.call('HSET', site.key, 'fence', token)
redis.call('HINCRBY', site.key, 'attempts', 1)
local entry = stage .. ' ' .. level .. ' ' .. attempt .. ' ' .. rest
redis.call('HSET', site.key .. ':open', rid, token .. ' ' .. entry)
local released_at = tonumber(redis.call('ZSCORE', site.key .. ':released:' .. stage, rid) or now)
measure(P .. ':stats', 'wait:' .. stage, TIMES_MS, math.max(0, now - math.floor(released_at)))
redis.call('ZREM', site.key .. ':released:' .. stage, rid)
if site.delay > 0 then
  learn_lead(site, now, released_at, ARGV[3])
  ends = reserve(site, token, begins, math.min(ARGV[4], site.delay / 2))
end
local deadline = site.delay > 0 and ends + site.lease or now + site.lease
redis.call('ZADD', site.key .. ':leased', deadline, rid)
schedule_look(site, deadline)
note_change(site)
local tail, payload = 0, string.match(rest, '^%S+ (.*)$')
if stage ~= 'list' then
  local id = cjson.decode(payload)[1]
  tail = tonumber(redis.call('HGET', site.key .. ':tail:' .. string.sub(id, 1, -3), id) or 0)
end
local validator = find_validator(site, stage, payload, attempt, now)
return {0, token, attempt, rid .. ' ' .. entry, site.version, tail, string.format('%.0f', deadline), validator,
  math.ceil(site.delay), now_us(), math.ceil(begins), math.floor(ends)}
