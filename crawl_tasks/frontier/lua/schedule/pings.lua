-- The pings of front pages, which show counts for each board. A board whose counts changed is due at once: its `ping`
-- is the time of that look, ms, until a scan that began later ends.
--
-- `front` holds the counts that were seen last, by board. `ping_at` is the time from which the budget allows one more
-- scan for a ping, and `pinged` holds "<items> <wait> <deviation>": those that scans for pings found since the last
-- look, and mean and standard deviation of the time in ms that these scans were waited for. `new_boards` holds
-- "<front page> <board>", separated by blanks: boards that front pages show since a later look than their first, and
-- the site file does not name.
-- INCLUDES: lib/site lib/admission schedule/news schedule/revisit
-- EXPORTS: ping_boards ping_at_of reserve_ping keep_new_boards
-- SHARES: note_pinged take_pinged

local RARE = 0.05  -- the weight of the last wait in their variance: a few long ones make most of it
local MOST_PINGS = 100  -- of one look. The next one compares the other boards again
local MOST_NEW = 50  -- new boards of a site that are told
local PINGED = {'line', 'newest', 'started_at', 'held', 'min_ms', 'max_ms'}

local function read_pinged(site)
  local items, wait, deviation = string.match(redis.call('HGET', site.key, 'pinged') or '', '^(%d+) (%d+) (%d+)$')
  return tonumber(items), tonumber(wait), tonumber(deviation)
end

local function write_pinged(site, items, wait, deviation)
  redis.call('HSET', site.key, 'pinged', string.format('%d %.0f %.0f', items, wait, deviation))
end

-- Note the items that a scan found by the ping of a front page, and how long they waited for it.
function note_pinged(site, seen, now)
  local items, wait, deviation = read_pinged(site)
  local last = math.max(0, now - seen.ping)
  local off = last - (wait or last)
  deviation = deviation or last  -- as of waits without memory
  local variance = deviation ^ 2 + RARE * ((1 - RECENT / 2) * off ^ 2 - deviation ^ 2)
  write_pinged(site, (items or 0) + seen.pinged, (wait or last) + RECENT * off, math.sqrt(variance))
end

-- Give a front page the items that scans found by its pings since its last look. An item waits for the look, evenly up
-- to an interval, and then for the scan. Reading takes so long that 95 of 100 items are expected as late as by the sum
-- of both waits. From the mean on that is 0.45 of the width of one even wait, and 0.48 of the sum of two alike. The
-- width follows from the variance.
function take_pinged(site, seen, interval)
  local items, wait, deviation = read_pinged(site)
  if not items then return end
  local scan = seen.scan
  scan.items, scan.heat = scan.items + items, scan.heat + items
  local late = interval / 2 + wait + 0.47 * math.sqrt(interval ^ 2 + 12 * deviation ^ 2)
  seen.reading = seen.reading + (late / 0.95 - interval) / HOUR
  write_pinged(site, 0, wait, deviation)
end

-- Return whether a board's own scans have seen its last post, of a time in seconds, 0 for unknown.
local function was_seen(v, posted, is_known)
  local newest, unit = tonumber(v[2] or 0), posted % 60 == 0 and 60 or 1  -- many forums show minutes
  local is_before = (posted + unit) * 1000 <= tonumber(v[3] or 0)  -- no other post of the same second followed the scan
  -- At the first look, a post from before the scan was seen by it, or stands in a board below, whose posts the row
  -- counts too.
  if not is_known and (posted == 0 or is_before) then return true end
  if posted == 0 then return false end
  return newest > 0 and (posted < newest or (posted == newest and is_before))
end

-- Make a board due whose counts changed. Return whether its counts may be kept: a board before its first scan is
-- compared again.
local function ping(site, id, posted, is_known, now)
  local page = site.page
  if page.news >= MOST_PINGS then return false end
  local key = board_key(site, id)
  local v = redis.call('HMGET', key, unpack(PINGED))
  if not v[1] or v[4] or v[5] == v[6] then return true end
  if redis.call('SISMEMBER', site.key .. ':unscanned', id) == 1 then return false end
  if was_seen(v, posted, is_known) then return true end
  redis.call('HSET', key, 'ping', now)
  redis.call('ZADD', P .. ':boards', 'XX', 'LT', now, site.name .. ' ' .. id)
  tally(site, 'pings', 1)
  page.news = page.news + 1
  return true
end

-- Keep those new boards of a site for which `keeps(front page, board)` is true, and add others.
function keep_new_boards(key, keeps, added)
  local before, pairs_kept = redis.call('HGET', key, 'new_boards') or '', {}
  for front_page, id in string.gmatch(before, '(%S+) (%S+)') do
    if keeps(front_page, id) then pairs_kept[#pairs_kept + 1] = front_page .. ' ' .. id end
  end
  for _, one in ipairs(added or {}) do
    if #pairs_kept < MOST_NEW then pairs_kept[#pairs_kept + 1] = one end
  end
  local after = table.concat(pairs_kept, ' ')
  if after ~= before then redis.call('HSET', key, 'new_boards', after) end
end

local function is_in_file(site, id)
  return redis.call('HEXISTS', board_key(site, id), 'line') == 1
    or redis.call('HEXISTS', site.key .. ':pending', id) == 1
end

-- Note the boards that a front page shows for the first time. Boards of its first look were left out of the site file
-- knowingly.
local function note_new_boards(site, front, unseen, shown)
  local page, added = site.page.listed[1], {}
  if redis.call('HSETNX', front, ' ' .. page, 1) == 1 then return end
  for _, id in ipairs(unseen) do
    if not is_in_file(site, id) then added[#added + 1] = page .. ' ' .. id end
  end
  keep_new_boards(site.key, function(front_page, id)
    return not is_in_file(site, id) and (front_page ~= page or shown[id])
  end, added)
end

-- Compare the lines of a front page, from a place on, with its last look.
function ping_boards(site, lines, from, now)
  local front, unseen, all = site.key .. ':front', {}, {}
  for first = from, #lines, CHUNK do
    local ids, shown, kept = {}, {}, {}
    for i = first, math.min(first + CHUNK - 1, #lines) do
      local said = cjson.decode(string.match(lines[i], WIRE.line.payload))
      ids[#ids + 1], shown[#shown + 1] = said[1], said[3]
      all[said[1]] = true
    end
    local known = redis.call('HMGET', front, unpack(ids))
    for place = 1, #ids do
      local i = (place + now) % #ids + 1  -- no board is always among the last
      local id = ids[i]
      local posted, counts = string.match(shown[i], '^(%d+)|(.*)$')
      if known[i] ~= counts and ping(site, id, tonumber(posted), known[i] and known[i] ~= '', now) then
        kept[#kept + 1], kept[#kept + 2] = id, counts
      elseif not known[i] then
        kept[#kept + 1], kept[#kept + 2] = id, ''  -- shown, and not compared
      end
      if not known[i] then unseen[#unseen + 1] = id end
    end
    for i = 1, #kept, CHUNK do redis.call('HSET', front, unpack(kept, i, math.min(i + CHUNK - 1, #kept))) end
  end
  note_new_boards(site, front, unseen, all)
end

-- Return the time from which the budget allows one more scan for a ping.
function ping_at_of(site)
  local plan = site.plan
  plan.ping_at = plan.ping_at or tonumber(redis.call('HGET', site.key, 'ping_at') or 0)
  return plan.ping_at
end

-- Return the time at which the budget allows the next scan for a ping, and reserve it. Scans without one wait behind.
function reserve_ping(site, now, burst)
  local plan = site.plan
  local each = HOUR / budget_of(site)
  plan.ping_at = math.max(ping_at_of(site), now - burst)
  local at = math.max(now, plan.ping_at)
  plan.ping_at, plan.scan_at = plan.ping_at + each, plan.scan_at + each
  redis.call('HSET', site.key, 'ping_at', string.format('%.0f', plan.ping_at))
  return at
end
