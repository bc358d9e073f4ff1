-- The price of a site with the priced policy, and the intervals of its boards by it. The site has a budget: `freshness`
-- is described in news.lua.
--
-- `pulse` holds "<price> <items> <hours> <rate> <rate found in time>": the site's price, and sums over its boards'
-- histories. Its rates are those until the next scans.
-- `busy` holds the items of each hour of day, and the hour since which they are counted.
-- A board's `history` holds "<items> <hours> <heat> <at> <rate> <interval>", in hours, `expected` the items an hour
-- until the next scan, and `pace` "<lag in hours> <cost>".
-- INCLUDES: lib/admission schedule/news schedule/revisit
-- EXPORTS: read_pulse write_pulse uniform_interval recount_pulse meets_goal
-- SHARES: priced_interval balanced_interval

local MOST_BUSY = 5000
local THIRD = '(%d+) (%d+) (%d+) (%d+) (%d+) (%d+) (%d+) (%d+)'
-- The hours of a day: numbers_in() would take three times as long.
local BUSY = '^' .. THIRD .. ' ' .. THIRD .. ' ' .. THIRD .. ' (%d+)$'
local MEAN = 0.5  -- items an hour of a board of which nothing is known

-- Return the site's price and sums.
function read_pulse(site, uniform)
  local text = redis.call('HGET', site.key, 'pulse') or ''
  local price, items, hours, rate, met = string.match(text, '^(%S+) (%S+) (%S+) (%S+) (%S+)$')
  if not price then return {price = MEAN * uniform ^ EXPONENT, items = 0, hours = 0, rate = 0, met = 0} end
  return {price = tonumber(price), items = tonumber(items), hours = tonumber(hours), rate = tonumber(rate),
    met = tonumber(met)}
end

function write_pulse(site, pulse)
  redis.call('HSET', site.key, 'pulse',
    string.format('%.6g %.10g %.10g %.10g %.10g', pulse.price, pulse.items, pulse.hours, pulse.rate, pulse.met))
end

local function read_history(text, pace, expected)
  local items, hours, heat, at, rate, interval = string.match(text or '', '^(%S+) (%S+) (%S+) (%S+) (%S+) (%S+)$')
  local lag, cost = string.match(pace or '', '^(%S+) (%S+)$')
  return {items = tonumber(items or 0), hours = tonumber(hours or 0), heat = tonumber(heat or 0),
    at = tonumber(at or 0), rate = tonumber(rate or 0), interval = tonumber(interval or 1),
    expected = tonumber(expected or 0), lag = tonumber(lag or 0), cost = tonumber(cost or 1)}
end

-- Return the hours in which all boards of a site would be scanned once, at an equal share of the budget.
function uniform_interval(site, requests) return math.max(1, redis.call('SCARD', site.key .. ':boards')) / requests end

-- Return the hours in which a board's next item is found at the latest.
local function longest_delay(history) return math.max(1e-6, history.interval + history.lag) end

-- Add what a board gives to the site's sums, or take it away with -1. The mean of the boards, items by hours, is what
-- their own scans find: without what the page of all news finds for them.
local function add_to_pulse(site, id, pulse, history, goal, sign)
  if not is_news(site, id) then
    pulse.items, pulse.hours = math.max(0, pulse.items + sign * history.items),
      math.max(0, pulse.hours + sign * history.hours)
  end
  pulse.rate = math.max(0, pulse.rate + sign * history.expected)
  pulse.met = math.max(0, pulse.met + sign * history.expected * math.min(1, goal / longest_delay(history)))
end

-- Count a site's sums anew, since its boards or its goal may have changed: those of about `most` boards from a cursor
-- on, added to the sums before. Return the next cursor, '0' at the end, and the sums. Scans that end between the calls
-- shift them by the change of one board of many.
function recount_pulse(site, cursor, sums, most)
  local requests, goal = budget_of(site)
  if not requests then return '0', '' end
  local items, hours, rate, met = string.match(sums, '^(%S+) (%S+) (%S+) (%S+)$')
  local pulse = {items = tonumber(items or 0), hours = tonumber(hours or 0), rate = tonumber(rate or 0),
    met = tonumber(met or 0)}
  local page = redis.call('SSCAN', site.key .. ':boards', cursor, 'COUNT', most)
  for _, id in ipairs(page[2]) do
    local v = redis.call('HMGET', board_key(site, id), 'history', 'pace', 'expected')
    if v[1] then add_to_pulse(site, id, pulse, read_history(v[1], v[2], v[3]), goal, 1) end
  end
  if page[1] == '0' then
    pulse.price = read_pulse(site, uniform_interval(site, requests)).price
    write_pulse(site, pulse)
  end
  return page[1], string.format('%.17g %.17g %.17g %.17g', pulse.items, pulse.hours, pulse.rate, pulse.met)
end

-- Return whether the site's goal is met: 95 % of the items are expected in time. Without a goal the whole budget is
-- used.
function meets_goal(pulse, goal) return goal > 0 and pulse.rate > 0 and pulse.met >= 0.95 * pulse.rate end

-- Count the posting times of new items, and return the sums of the hours' shares. All hours are alike until items were
-- counted for a day: most rows of first scans are of the hours before, and would make these seem busy.
local function count_busy(site, seen, now)
  local text = redis.call('HGET', site.key, 'busy')
  local counts, sum = {string.match(text or '', BUSY)}, 0
  counts[25] = tonumber(counts[25]) or seen.since or math.floor(now)
  if #seen.hours > 0 then
    for _, hour in ipairs(seen.hours) do counts[hour + 1] = (counts[hour + 1] or 0) + 1 end
    for hour = 1, 24 do counts[hour] = counts[hour] or 0; sum = sum + counts[hour] end
    if sum > MOST_BUSY then
      for hour = 1, 24 do counts[hour] = math.floor(counts[hour] / 2) end
    end
    redis.call('HSET', site.key, 'busy', table.concat(counts, ' '))
  end
  return busy_sums(now - counts[25] < 24 and {} or counts)
end

-- Follow the mean rate of a site while its boards are scanned for the first time. At the price of another rate the site
-- would spend another budget, and a round of all boards moves the price by a factor of e only.
local function scale_price(site, pulse, rate)
  local known = redis.call('SCARD', site.key .. ':boards') - redis.call('SCARD', site.key .. ':unscanned')
  local mean = known > 0 and pulse.rate / known or MEAN
  local with = (pulse.rate + rate) / (math.max(0, known) + 1)
  pulse.price = pulse.price * math.max(LEAST_RATE, with) / math.max(LEAST_RATE, mean)
end

-- Return the mean rate towards which a board's own is drawn: that of the site's boards. A page of all news is like no
-- board, and nothing is hidden beside it before a board's scan has shown so.
local function mean_beside(site, id, pulse, before, after)
  if is_news(site, id) then return after.hours > 0 and after.items / after.hours or MEAN end
  local hours = pulse.hours + after.hours - before.hours
  if hours > 0 then return (pulse.items + after.items - before.items) / hours end
  return has_news(site) and 0 or MEAN
end

-- Return a board's next interval by the priced policy, ms.
function priced_interval(site, id, key, text, least, most, seen, now)
  local requests, goal = budget_of(site)
  local uniform, before = uniform_interval(site, requests), read_history(text, seen.pace, seen.expected)
  local pulse = read_pulse(site, uniform)
  local terms = {least = least / HOUR, busy = count_busy(site, seen, now / HOUR)}
  local after = observe(before, seen.scan, terms, now / HOUR)
  -- The past of a board says how much is posted there. Beside a page of all news, its own scans find what that page
  -- hides.
  if before.at == 0 and has_news(site) and not is_news(site, id) then after.items, after.hours, after.heat = 0, 0, 0 end
  terms.most = math.min(most / HOUR, most_gap(after, has_news(site) and not is_news(site, id), seen.is_shown) * uniform)
  terms.mean = mean_beside(site, id, pulse, before, after)
  after.rate = rate_of(after, terms)
  if before.at == 0 then scale_price(site, pulse, after.rate) end
  terms.price = pulse.price
  local pace = {lag = 0, cost = 1}
  if before.at > 0 then
    pace = paced(before, before.interval, now / HOUR - before.at, seen.reading, seen.is_unchanged)
  end
  after.interval, after.lag = next_interval(after, terms, pace.cost), pace.lag
  after.expected = expected_rate(after, terms, longest_delay(after))
  if before.at > 0 then add_to_pulse(site, id, pulse, before, goal, -1) end
  add_to_pulse(site, id, pulse, after, goal, 1)
  -- A goal that is met with room to spare: the price rises, and requests are spared.
  if goal > 0 and pulse.met >= 0.98 * pulse.rate then
    pulse.price = moved_price(pulse.price, uniform * requests, 1, 16)
  end
  write_pulse(site, pulse)
  local history = string.format('%.5g %.5g %.5g %.10g %.5g %.5g', after.items, after.hours, after.heat, after.at,
    after.rate, after.interval)
  redis.call('HSET', key, 'pace', string.format('%.3g %.3g', pace.lag, pace.cost),
    'expected', string.format('%.5g', after.expected), 'history', history)
  return math.max(least, math.min(most, math.floor(after.interval * HOUR + 0.5)))
end

-- Return the interval at which a board's scans find something as often as the simple policy makes them: 37 of 100,
-- where halving and lengthening by half are in balance.
local BALANCE = 0.46  -- items a scan, -log(1 - 0.37)
function balanced_interval(scan, least, most)
  local hours = observe({at = 0}, scan, {busy = busy_sums({})}, 0).hours
  return math.floor(math.max(least, math.min(most, BALANCE * HOUR * hours / scan.past)))
end
