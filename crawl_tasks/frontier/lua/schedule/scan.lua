-- The scan of a board: the rows of its list pages, its end, and the time of the next one.
--
-- `scan_at` of a site with the priced policy is the time from which the budget allows one more list request, ms.
-- `shown` of a board is set when its own scan met news that the page of all news had told before, or rows whose times
-- nobody knows.
-- `by_due` orders the boards of such a site by due time, for scans ahead of time. It may name boards that have left, or
-- hold times that a person has changed since. Only `boards` says which boards are due.
-- INCLUDES: lib/site lib/admission schedule/interval schedule/news schedule/pings schedule/revisit
-- EXPORTS: new_scan note_item plan_scan begin_list_page close_scan learn_past

function new_scan() return {items = 0, heat = 0, past = 0, oldest = 0} end

-- Note the posting time of a new item of a list page, in seconds since the epoch, 0 where the page shows none. What the
-- page of all news is still to show is no part of what it hides.
function note_item(site, seen, listed, posted, now)
  local age = posted > 0 and math.max(0, now / 1000 - posted) / 3600
  if not check_news(site, listed, posted, seen, now) then add_item(seen.scan, age) end
  if age and age < 168 then seen.hours[#seen.hours + 1] = math.floor(posted / 3600) % 24 end
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
  site.page.is_walked = v[4]  -- a walk goes over the same board now
  if listed[2] > 1 or not v[1] or newest == 0 then return tonumber(v[3] or 0) end
  redis.call('HSET', key, 'newest', math.min(newest, math.floor(now / 1000)), 'known_until', v[2] or 0)
  return tonumber(v[2] or 0)
end

-- Prepare a site for the lines of a list page. `times` holds the last reply of each line's thread.
function begin_list_page(site, listed, level, times, now)
  local page = site.page
  local is_first = redis.call('SISMEMBER', site.key .. ':unscanned', listed[1]) == 1
  local is_unscanned = is_first and listed[2] > 1
  local is_walking = is_walk(listed, level)
  page.listed = listed
  page.is_unscanned = is_first and not is_news(site, listed[1])
  page.is_first_walk = is_unscanned or (listed[2] > 1 and is_walking and not is_by_hand(listed))
  page.counts_items = site.terms.freshness ~= '' and not is_walking
  page.known_until = not is_walking and note_newest(site, listed, times, now) or 0
  if is_walking then return end
  page.last_seen = page.known_until
  if page.last_seen == 0 then
    page.last_seen = tonumber(redis.call('HGET', board_key(site, listed[1]), 'restored') or 0)
  end
  page.goes_by_time = may_hide_news(site)
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
    if site.page.is_walked then redis.call('HINCRBY', key, 'slid', fresh) end
  end
  if site.terms.freshness ~= '' then gather_items(key, seen, open <= 0) end
  if seen.pinged then note_pinged(site, seen, now) end
  if open > 0 then return end
  local v = redis.call('HMGET', key, 'interval_ms', 'min_ms', 'max_ms', 'fresh', 'started_at', 'history', 'ping',
    'pace', 'expected', 'shown')
  local id, least, most = cjson.decode(payload)[1], tonumber(v[2]), tonumber(v[3])
  local started = tonumber(v[5] or now)
  local interval
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
