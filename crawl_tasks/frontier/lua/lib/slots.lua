-- The slots (throttle) of a site with a delay. Changes only three fields of the site: `next_at`, when the next slot may
-- begin, `turn`, which lease has the newest slot, and `lead`.
--
-- A slot is a span in which one request is sent. The next slot begins a delay after the end, less PROMPT ms, by which
-- two requests may come closer. A worker that is often late needs longer slots, and the site gets requests that much
-- more slowly. `lead` is the lead time: a request is released so long before its slot that its worker is ready in time.
-- It follows the measured times, upwards fast and downwards slowly.
-- INCLUDES: lib/site
-- EXPORTS: ON_ITS_WAY AHEAD WIDEST reserve has_newest_slot learn_lead release_at

-- ms of the promised 5 (TOLERANCE_S): the rest is for clocks, and for the time after the last look at one
local PROMPT = 1
ON_ITS_WAY = 3000  -- ms for which a request that is released, and not leased, counts as the next slot
AHEAD = 500  -- ms that a slot is reserved ahead at the most, as a worker waits for it
WIDEST = 1000  -- ms that a slot lasts at the most
-- ms by which a slot that is longer than its delay needs is late at the least: machines are busy for that long
local LATE = 50
local LATE_TICK = 250  -- ms by which a tick may be late: if a release is later still, nothing was ready

-- Reserve a slot for the holder of a token. Return its end. The slot of a lease counts as late where it is that much
-- longer.
function reserve(site, token, begins, slack, is_of_lease)
  local more = math.max(0, slack - PROMPT)
  site.next_at = begins + more + site.delay
  local next_at = string.format('%.0f', site.next_at)
  redis.call('HSET', site.key, 'next_at', next_at, 'turn', token .. ' ' .. next_at)
  if is_of_lease and more > math.max(LATE, site.delay / 10) then tally(site, 'late_slots', 1) end
  return begins + PROMPT + more
end

-- Return whether a token has the newest slot, and no failure has let the site rest since.
function has_newest_slot(v, token) return v[2] == token .. ' ' .. (v[1] or '') end

-- Learn the lead time from a lease: the time from the planned release of a request until it can be sent.
function learn_lead(site, now, released_at, ready)
  local late_tick = math.min(LATE_TICK, math.max(0, released_at - (site.next_at - site.lead)))
  local took = math.min(AHEAD, now - released_at + late_tick + ready)
  -- An expectile, as in slot_clock.py: a lead that is too short costs a slot, one that is too long only a wait.
  local lead = site.lead + (took - site.lead) * (took > site.lead and 0.25 or 0.03)
  redis.call('HSET', site.key, 'lead', string.format('%.1f', lead))
end

-- Return the time to release a request behind `coming` others, which are released and not leased.
function release_at(site, now, coming)
  if site.delay <= 0 then return site.next_at end
  return (coming > 0 and math.max(site.next_at, now) or site.next_at) + coming * site.delay - site.lead
end
