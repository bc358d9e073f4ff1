-- Quiet hours and the daily budget, in the site's own time zone. Pure. `offsets` are those of the zone, as "<seconds
-- east of UTC>@<since, ms>", in order. `quiet` are hours, as "<from>-<to>" in minutes of the day, past midnight where
-- `to` is smaller. `spent` is "<day> <requests on that day>".
-- EXPORTS: day_at spent_on opens_at

local DAY = 86400000

local function offset_at(offsets, at)
  local found = 0
  for seconds, since in string.gmatch(offsets, '(-?%d+)@(%d+)') do
    if tonumber(since) <= at then found = tonumber(seconds) * 1000 end
  end
  return found
end

function day_at(offsets, at) return math.floor((at + offset_at(offsets, at)) / DAY) end

function spent_on(spent, day)
  local of, count = string.match(spent or '', '^(%d+) (%d+)$')
  return tonumber(of) == day and tonumber(count) or 0
end

-- Return the time at which the next request may go, 0 for now.
function opens_at(now, offsets, quiet, budget, spent)
  local offset = offset_at(offsets, now)
  local time, today, at = (now + offset) % DAY, math.floor((now + offset) / DAY), 0
  if budget > 0 and spent_on(spent, today) >= budget then at = now - time + DAY end
  for from, to in string.gmatch(quiet, '(%d+)-(%d+)') do
    from, to = from * 60000, to * 60000
    if from < to and time >= from and time < to then at = math.max(at, now - time + to) end
    if from > to and time >= from then at = math.max(at, now - time + to + DAY) end
    if from > to and time < to then at = math.max(at, now - time + to) end
  end
  return at > 0 and at + offset - offset_at(offsets, at) or 0  -- the clock may change to or from summer time by then
end
