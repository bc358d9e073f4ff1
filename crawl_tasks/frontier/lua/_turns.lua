-- Shared by every script, in front of _release.lua: turns at the gate of a site that asks for a delay. Changes only its fields
-- `next_at`, when the next turn may begin, `turn`, whose the newest one is, and `lead`.
--
-- A turn is a span in which one request is sent; the next one begins a delay after its end, of which PROMPT ms are free:
-- so much nearer two requests may come. A worker that is often late asks for more, and the site is asked so much more
-- slowly. `lead` is how long before its turn a request is released, so that its worker is ready in time: it follows how
-- long that took, upwards fast and downwards slowly.

local PROMPT = 1  -- ms; of the 5 that are promised the rest is for clocks, and for what follows the last look
local ON_ITS_WAY = 3000  -- ms for which a request that is released, and not leased, counts as the next turn
local AHEAD = 500  -- ms that a turn is reserved ahead at the most: a worker waits for it
local WIDEST = 1000  -- ms that a turn lasts at the most
local LATE_TICK = 250  -- ms by which a release may be late because of the clockwork; later, nothing was ready

-- Reserve a turn for the holder of a token: when it ends.
local function reserve(site, token, begins, slack)
  local more = math.max(0, slack - PROMPT)
  site.next_at = begins + more + site.delay
  local next_at = string.format('%.0f', site.next_at)
  redis.call('HSET', site.key, 'next_at', next_at, 'turn', token .. ' ' .. next_at)
  if more > site.delay / 10 then tally(site, 'late_turns', 1) end
  return begins + PROMPT + more
end

-- Say whether the newest turn is that of a token, and nobody let the site rest since.
local function is_newest(v, token) return v[2] == token .. ' ' .. (v[1] or '') end

-- Learn from a lease how long it takes from when a request is to be released until it can be sent.
local function learn_lead(site, now, released_at, ready)
  local late_tick = math.min(LATE_TICK, math.max(0, released_at - (site.next_at - site.lead)))
  local took = math.min(AHEAD, now - released_at + late_tick + ready)
  local lead = site.lead + (took - site.lead) * (took > site.lead and 0.25 or 0.03)
  redis.call('HSET', site.key, 'lead', string.format('%.1f', lead))
end

-- When a request may be released that others, released and not leased, go before.
local function release_at(site, now, coming)
  if site.delay <= 0 then return site.next_at end
  return (coming > 0 and math.max(site.next_at, now) or site.next_at) + coming * site.delay - site.lead
end
