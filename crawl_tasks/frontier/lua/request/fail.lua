-- End a lease without a result: the request is delayed for a retry, ready again, parked, or dead. A failure counts
-- against the page first, and against its site only beside failures of other pages, see failures.lua. The site may get
-- a rest or a backoff, or an open circuit breaker. An attempt that is not the page's own failure is not counted.
-- INCLUDES: lib/site lib/admission lib/backoff lib/circuit_breaker lib/failures lib/idle lib/pending_pages lib/release
-- FLAGS: allow-oom
-- KEYS 1: key prefix
-- KEYS 2: name of the call, as answers.lua reads it
-- ARGV: the locals of FailFields in frontier/wire/lease_end.py
-- RETURNS 0: {0, released, state of the request, idle_state() of the site}
-- RETURNS -1: the site is not published
-- RETURNS -2: the lease is not the caller's any more, and nothing was changed

-- A site whose pages were good a moment ago may mean one page by a long Retry-After: that page waits so long. The site
-- rests for less, and other pages are its probes. When they are refused until none was good in LATELY ms, the site
-- means itself.
local LONG_REST, SHORT_REST, LATELY = 60000, 3000, 120000

local site = load_site(name)
if not site then return {-1} end
local now = now_ms()
local entry = end_lease(site, rid, token)
if not entry then return {-2} end

local stage, level, attempt, address, payload = string.match(entry, WIRE.entry.stage_priority_attempt_address_payload)
local took = fetch_ms_of(effort)
local rest, wait, is_first = rest_ms, delay_ms, tonumber(attempt) == 1

-- Let the whole site rest.
local function give_rest()
  if rest <= 0 then return end
  redis.call('HDEL', site.key, 'turn')  -- the holder of the newest slot waits as well, if late
  if now + rest <= site.next_at then return end
  tally(site, 'rest_ms', string.format('%.0f', now + rest - math.max(site.next_at, now)))
  site.next_at = now + rest
  redis.call('HSET', site.key, 'next_at', string.format('%.0f', site.next_at))
end

-- Return whether a refused probe is the last open page of its stage, while other stages were answered well since the
-- breaker opened. Then the site refuses this page alone, and no other page will ever be the probe.
local function is_refused_last()
  if not is_probe(site, stage, rid) or has_ready(site, stage) then return false end
  if redis.call('ZCARD', site.key .. ':released:' .. stage) > 0 then return false end
  return was_good_since(site, tonumber(string.match(site.open_breakers[stage], '^%d+')), address, stage)
end

local is_beside_good = scope == 'site' and was_good_since(site, now - LATELY, address)
local waits_alone = is_beside_good and rest > LONG_REST
if waits_alone then rest, wait, is_named = SHORT_REST, math.max(wait, rest), false end
if is_beside_good and not is_named then rest = math.min(rest, SHORT_REST) end

if scope == 'site' then
  local is_known = not is_first or was_refused_with_all(site, stage, rid)
  local is_alone, was_refused = is_refused_alone(site, stage, address, is_known)
  local is_all = not WIRE.strains[reason]  -- says nothing of the page, nor of the pace
  is_alone = is_alone and not is_all
  local is_refusing = refusal_of(site, stage)
  if reason == WIRE.reason.LoginRefused then
    redis.call('HSETNX', site.key, 'login', string.format('%.0f ', now) .. details)
  end
  -- A list shows whether the forum is there.
  if reason == WIRE.reason.AllGone and stage ~= 'list' and not is_refusing then
    local board = redis.call('SRANDMEMBER', site.key .. ':boards')
    if board then redis.call('ZADD', P .. ':boards', 'XX', 'LT', now, site.name .. ' ' .. board) end
  end
  if is_refusing and not is_all and is_refused_last() then
    note_answer(site, stage, rid, false)
    scope = 'page'
  elseif not is_alone or is_refusing then
    note_refusal(site, stage, rid, reason, now, rest, is_named)
    remember_refused(site, stage, rid)
    give_rest()
    -- A refused probe says nothing of the pace.
    if not is_refusing and not is_all then slow_down(site, token, now, took) end
    state = waits_alone and 'delayed' or 'ready'
  else
    if not is_known and not was_refused then give_rest() end
    scope = 'page'
  end
elseif slows_site and (is_first or site.slow) and is_strained(site, address, now, took) then
  give_rest()
  slow_down(site, token, now, took, not is_first)
end
if state ~= 'ready' and refusal_of(site, stage) and not says_nothing and is_probe(site, stage, rid) then
  note_refusal(site, stage, rid, reason, now, 1, false)  -- a probe that fails otherwise says nothing: another one goes
end
redis.call('HINCRBY', site.key, 'failed:' .. reason, 1)
if scope ~= 'nothing' or reason == WIRE.reason.ArchiveFailed then note_no_page(site, reason, now) end
count_effort(site, stage, effort)
note_recent(site, now, entry, effort, reason)
if says_nothing then note_bad_page(site, stage, rid, reason, now) end
if scope ~= 'page' then entry = WIRE.write_entry(rid, stage, level, attempt - 1, address .. ' ' .. payload) end
if state == 'ready' or state == 'delayed' then tally(site, 'delayed:' .. reason, 1) end
if state == 'ready' then
  return_tried(site, entry)
elseif state == 'delayed' then
  redis.call('ZADD', site.key .. ':delayed', now + wait, entry)
  schedule_look(site, now + wait)
else
  bury(site, entry, reason .. ' ' .. details, now, state)
end
local released = release(site, now)
local idle = released > 0 and 0 or idle_state(site)
if idle > 0 and ask_for_check(site, now) then released, idle = release(site, now), 0 end
return {0, released, state, idle}
