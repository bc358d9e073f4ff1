-- The revisit policy, by pure functions on tables. tests/freshness/revisit.py says the same in Python and explains each
-- number. A test holds the two equal.
--
-- `history` is a board's {items, hours, heat, at}, `scan` the new items of a scan as {items, heat, past, oldest},
-- `terms` a site's {price, mean, least, most, busy}. Times are hours since the epoch.
-- `pace` is a board's {lag, cost}.
-- EXPORTS: EARLY moved_price
-- SHARES: EXPONENT LEAST_RATE RECENT UNCHANGED_COST add_item busy_sums observe rate_of expected_rate next_interval
-- SHARES: most_gap paced

EXPONENT, EARLY, LEAST_RATE, UNCHANGED_COST = 3.5, 0.8, 1e-4, 0.5
local MOST_GAP, HIDDEN_GAP, HIDDEN_ITEMS = 24, 4, 0.5
local HALF_LIFE, HOT, HOT_WEIGHT, HOT_SHARE = 96, 0.75, 1.5, 0.2
local PRIOR, PRIOR_ITEMS, PRIOR_PART, PRIOR_SHARE = 3, 1.5, 1 / 16, 0.3
local QUIET, STEPS = 0.2, 12
local LEAST_LAG, MOST_LAG = -0.9, 3
RECENT = 0.25

-- Add an item of an age in hours to the new items of a scan.
function add_item(scan, age)
  scan.items = scan.items + 1
  if not age then return end
  scan.heat, scan.past = scan.heat + math.exp(-age / HOT), scan.past + 2 ^ (-age / HALF_LIFE)
  scan.oldest = math.max(scan.oldest, age)
end

-- Return the sums of the hours' shares, from the items of each hour of day.
function busy_sums(counts)
  local sum = 0
  for hour = 1, 24 do sum = sum + (counts[hour] or 0) end
  local least = math.max(5, sum / 24 * 0.05)
  local total, sums = (sum + 24 * least) / 24, {[0] = 0}
  for hour = 1, 24 do sums[hour] = sums[hour - 1] + ((counts[hour] or 0) + least) / total end
  return sums
end

local function busy_until(busy, hour)
  local extra = 0
  if hour >= 24 then extra, hour = busy[24], hour - 24 end
  local whole = math.floor(hour)
  return extra + busy[whole] + (hour - whole) * (busy[whole + 1] - busy[whole])
end

-- Return the busy hours in a span.
local function busy_hours(busy, start, hours)
  local days = math.floor(hours / 24)
  local first = start % 24
  return days * 24 + busy_until(busy, first + hours - days * 24) - busy_until(busy, first)
end

-- Return the history after a scan.
function observe(history, scan, terms, now)
  if history.at == 0 then
    local oldest = math.max(1e-6, scan.oldest)
    local watched = HALF_LIFE / math.log(2) * (1 - 2 ^ (-oldest / HALF_LIFE))
    local busy = busy_hours(terms.busy, now - oldest, oldest) / oldest
    return {items = scan.past, hours = watched * busy, heat = scan.heat, at = now}
  end
  local passed = math.max(0, now - history.at)
  local decay = 2 ^ (-passed / HALF_LIFE)
  return {items = history.items * decay + scan.items,
    hours = history.hours * decay + busy_hours(terms.busy, history.at, passed),
    heat = history.heat * math.exp(-passed / HOT) + scan.heat, at = now}
end

local function drawn_rate(history, terms, prior)
  return (history.items + PRIOR_SHARE * math.max(LEAST_RATE, terms.mean) * prior) / (history.hours + prior)
end

function rate_of(history, terms)
  local prior = math.min(PRIOR, PRIOR_ITEMS / math.max(LEAST_RATE, terms.mean))
  return drawn_rate(history, terms, math.max(prior, PRIOR_PART * terms.most))
end

-- Return the items an hour that are expected until the next scan.
function expected_rate(history, terms, wait)
  local hot = history.heat * (1 - math.exp(-wait / HOT)) / wait
  local rate = drawn_rate(history, terms, PRIOR_PART * terms.most)
  return rate * busy_hours(terms.busy, history.at, wait) / wait * (1 - HOT_SHARE) + hot * HOT_SHARE
end

local function price_of(history, rate, busy, wait)
  local steady = rate * busy_hours(busy, history.at, wait) * wait ^ (EXPONENT - 2)
  local hot = history.heat * (wait - HOT * (1 - math.exp(-wait / HOT)))
  return (steady + HOT_WEIGHT * hot) * wait
end

-- Return the pace after a scan that ended so many hours after the one before, in place of those planned.
function paced(pace, planned, passed, reading, is_unchanged)
  local lag = math.max(LEAST_LAG * planned, math.min(MOST_LAG * planned, passed - planned + reading))
  local cost = is_unchanged and UNCHANGED_COST or 1
  return {lag = pace.lag + (lag - pace.lag) * RECENT, cost = pace.cost + (cost - pace.cost) * RECENT}
end

-- Return the hours until the next scan: the least wait that is worth the scan's cost, within the bounds.
function next_interval(history, terms, cost)
  local rate = rate_of(history, terms)
  rate = rate * rate / (rate + QUIET * math.max(LEAST_RATE, terms.mean))
  local low, high = math.log(terms.least), math.log(math.max(terms.least, terms.most))
  for _ = 1, STEPS do
    local middle = (low + high) / 2
    if price_of(history, rate, terms.busy, math.exp(middle)) < terms.price * cost then
      low = middle
    else
      high = middle
    end
  end
  return math.exp(high)
end

-- Return the longest gap between two scans of a board, in the intervals of an equal share of the budget. Beside a page
-- of all news a board that this page has never shown, or lately hid items of, has a share of its own.
function most_gap(history, has_news, is_shown)
  return has_news and (not is_shown or history.items >= HIDDEN_ITEMS) and HIDDEN_GAP or MOST_GAP
end

-- Return the price after a scan that began `late` hours after its due time, or before if negative.
function moved_price(price, boards, late, interval)
  return price * math.exp(math.max(-1, math.min(1, 4 * late / interval)) / boards)
end
