-- Shared by every script, behind news.lua: the end of a board's scan, and the time of the next one.
--
-- A site with the priced policy has a budget. `freshness` is described in news.lua.
-- `pulse` holds "<price> <items> <hours> <rate> <rate found in time>": the site's price, and sums over its boards'
-- histories. Its rates are those until the next scans.
-- `busy` holds the items of each hour of day, and the hour since which they are counted. `scan_at` is the time from
-- which the budget allows one more list request, ms.
-- A board's `history` holds "<items> <hours> <heat> <at> <rate> <interval>", in hours, `expected` the items an hour
-- until the next scan, and `pace` "<lag in hours> <cost>".
-- `shown` is set when a board's own scan met news that the page of all news had told before, or rows whose times nobody
-- knows. `by_due` orders the boards of such a site by due time, for scans ahead of time. It may name boards that have
-- left, or hold times that a person has changed since. `boards` alone says which boards are due.
-- EXPORTS: new_scan read_pulse write_pulse uniform_interval recount_pulse meets_goal note_item plan_scan
-- EXPORTS: begin_list_page close_scan learn_past

local MOST_BUSY = 5000
local THIRD = '(%d+) (%d+) (%d+) (%d+) (%d+) (%d+) (%d+) (%d+)'
-- The hours of a day: numbers_in() would take three times as long.
local BUSY = '^' .. THIRD .. ' ' .. THIRD .. ' ' .. THIRD .. ' (%d+)$'
local MEAN = 0.5  -- items an hour of a board of which nothing is known

function new_scan() return {items = 0, heat = 0, past = 0, oldest = 0} end

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

-- Note the posting time of a new item of a list page, in seconds since the epoch, 0 where the page shows none. What the
-- page of all news is still to show is no part of what it hides.
function note_item(site, seen, listed, posted, now)
  local age = posted > 0 and math.max(0, now / 1000 - posted) / 3600
  if not check_news(site, listed, posted, seen, now) then add_item(seen.scan, age) end
  if age and age < 168 then seen.hours[#seen.hours + 1] = math.floor(posted / 3600) % 24 end
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
local function priced_interval(site, id, key, text, least, most, seen, now)
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
local function balanced_interval(scan, least, most)
  local hours = observe({at = 0}, scan, {busy = busy_sums({})}, 0).hours
  return math.floor(math.max(least, math.min(most, BALANCE * HOUR * hours / scan.past)))
end

-- Teach a board the past of which the database knows, and return its next interval, ms. Nil where nothing is known.
function learn_past(site, id, sums, by_hour, at)
  local key, items, heat, past, oldest = board_key(site, id), string.match(sums, '^(%S+) (%S+) (%S+) (%S+)$')
  if not items then return nil end
  local v = redis.call('HMGET', key, 'min_ms', 'max_ms')
  local scan = {items = tonumber(items), heat = tonumber(heat), past = tonumber(past), oldest = tonumber(oldest)}
  local hours = {}
  for hour, n in ipairs(numbers_in(by_hour)) do
    for _ = 1, n do hours[#hours + 1] = hour - 1 end
  end
  local least, most = tonumber(v[1]), tonumber(v[2])
  local seen = {scan = scan, hours = hours, since = 0}
  if site.terms.freshness ~= '' then return priced_interval(site, id, key, nil, least, most, seen, at) end
  return scan.past > 0 and balanced_interval(scan, least, most) or nil
end

-- Plan a board's next scan. A board with a fixed interval is never scanned ahead of time.
function plan_scan(site, id, at, interval, is_fixed)
  redis.call('ZADD', P .. ':boards', 'XX', at, site.name .. ' ' .. id)
  if site.terms.freshness == '' or is_fixed then return end
  redis.call('ZADD', site.key .. ':by_due', at, id)
  redis.call('ZADD', P .. ':early', 'LT', at - EARLY * interval, site.name)
end

-- Note the time of the newest row that page 1 of a scan shows, and return that of the scan before, 0 for unknown. Both
-- are of the forum's clock, unless that is ahead: a row from the future would end all later scans on page 1.
local function note_newest(site, listed, times, now)
  local key, newest = board_key(site, listed[1]), 0
  for _, at in ipairs(times) do newest = math.max(newest, at) end
  local v = redis.call('HMGET', key, 'line', 'newest', 'known_until', 'walk_open')
  site.is_walked = v[4]  -- a walk goes over the same board now
  if listed[2] > 1 or not v[1] or newest == 0 then return tonumber(v[3] or 0) end
  redis.call('HSET', key, 'newest', math.min(newest, math.floor(now / 1000)), 'known_until', v[2] or 0)
  return tonumber(v[2] or 0)
end

-- Prepare a site for the lines of a list page. `times` holds the last reply of each line's thread.
function begin_list_page(site, listed, level, times, now)
  local is_first = redis.call('SISMEMBER', site.key .. ':unscanned', listed[1]) == 1
  local is_unscanned = is_first and listed[2] > 1
  local is_walking = is_walk(listed, level)
  site.listed = listed
  site.is_unscanned = is_first and not is_news(site, listed[1])
  site.is_first_walk = is_unscanned or (listed[2] > 1 and is_walking and not is_by_hand(listed))
  site.counts_items = site.terms.freshness ~= '' and not is_walking
  site.known_until = not is_walking and note_newest(site, listed, times, now) or 0
  if is_walking then return end
  site.last_seen = site.known_until
  if site.last_seen == 0 then
    site.last_seen = tonumber(redis.call('HGET', board_key(site, listed[1]), 'restored') or 0)
  end
  site.goes_by_time = may_hide_news(site)
end

-- Keep the new items of a page for the end of its scan, and return those of all pages.
local function gather_items(key, seen, is_over)
  local text = redis.call('HGET', key, 'scan_items') or ''
  local items, heat, past, oldest = string.match(text, '^(%S+) (%S+) (%S+) (%S+)$')
  local scan = seen.scan
  if items then
    scan.items, scan.heat, scan.past = scan.items + items, scan.heat + heat, scan.past + past
    scan.oldest = math.max(scan.oldest, tonumber(oldest))
  end
  if not is_over and scan.items > 0 then
    redis.call('HSET', key, 'scan_items',
      string.format('%d %.6g %.6g %.6g', scan.items, scan.heat, scan.past, scan.oldest))
  elseif is_over and items then
    redis.call('HDEL', key, 'scan_items')
  end
end

-- Give a site's budget back what a scan cost less whose page had not changed.
local function refund_scan(site)
  local requests = budget_of(site)
  redis.call('HINCRBY', site.key, 'scan_at', -math.floor((1 - UNCHANGED_COST) * HOUR / requests))
end

-- End a list page. A board's scan is over when none of its list requests is open, and the next one is planned: by the
-- priced policy, or by the simple one, where a scan that found something halves the board's interval and one that found
-- nothing lengthens it by half, within the bounds of the site. `seen` holds the new items of the page.
function close_scan(site, payload, level, fresh, now, seen)
  local key, open = note_board(site, payload, level, -1)
  if not key then return end
  local was_read = seen ~= nil and not seen.is_gone  -- else the next scan is the first one that shows the board
  seen = seen or {scan = new_scan(), hours = {}}
  if fresh > 0 then
    redis.call('HINCRBY', key, 'fresh', fresh)
    if site.is_walked then redis.call('HINCRBY', key, 'slid', fresh) end
  end
  if site.terms.freshness ~= '' then gather_items(key, seen, open <= 0) end
  if seen.pinged then note_pinged(site, seen, now) end
  if open > 0 then return end
  local v = redis.call('HMGET', key, 'interval_ms', 'min_ms', 'max_ms', 'fresh', 'started_at', 'history', 'ping',
    'pace', 'expected', 'shown')
  local id, interval, least, most = cjson.decode(payload)[1], nil, tonumber(v[2]), tonumber(v[3])
  local started = tonumber(v[5] or now)
  if site.terms.freshness ~= '' then
    seen.is_shown = seen.is_shown or seen.pinged ~= nil
    if seen.is_shown and not v[10] then redis.call('HSET', key, 'shown', 1) end
    seen.pace, seen.expected, seen.reading, seen.is_shown = v[8], v[9], 0, seen.is_shown or v[10]
    if is_news(site, id) then
      -- A page that is read every few seconds comes in gaps that vary by its time in the queue and on the way. A
      -- board's page shows what was posted in that time, and its own gaps are long beside it.
      seen.reading = (now - started) / HOUR
      take_pinged(site, seen, tonumber(v[1]))
    end
    if seen.is_unchanged then refund_scan(site) end
    -- The first scan that is read shows the past, from which a board's rate is learned.
    interval = (was_read or v[6]) and priced_interval(site, id, key, v[6], least, most, seen, now) or tonumber(v[1])
  else
    interval = math.floor(math.max(least, math.min(most, v[1] * (tonumber(v[4] or 0) > 0 and 0.5 or 1.5))))
  end
  redis.call('HSET', key, 'interval_ms', interval, 'scanned_at', now, 'last_fresh', v[4] or 0, 'fresh', 0, 'open', 0)
  local is_pinged = v[7] and tonumber(v[7]) > started
  if v[7] and not is_pinged then redis.call('HDEL', key, 'ping') end
  plan_scan(site, id, is_pinged and now or started + interval, interval, least == most)
  if site.terms.freshness ~= '' and is_news(site, id) then redis.call('HSET', site.key, 'news_at', v[5] or now) end
  if was_read then redis.call('SREM', site.key .. ':unscanned', id) end
  redis.call('ZREM', site.key .. ':overdue', id)
end
