-- Admit the first list page of every board that is due and not being scanned, while its site is under its backlog
-- limit. A board has one scan at a time, so that two callers, or a late one, change nothing. A site with the priced
-- policy has a budget: a due board beyond it gets a slot in the order of due times, and boards are scanned ahead of
-- time while the budget allows and the goal is not met.
-- INCLUDES: lib/site lib/admission lib/backlog_limit lib/boards lib/release schedule/interval schedule/news
-- INCLUDES: schedule/pings schedule/revisit schedule/scan
-- KEYS 1: key prefix
-- ARGV 1: most due boards to look at. As many looks at most are for scans ahead of time, and as many for full passes
-- RETURNS 0: {0, scans admitted, boards held back by the backlog limit, boards still being scanned, 1 when more may be
--   due}

local BURST = 2000         -- ms of a budget that a site may save up
local EARLY_AT_ONCE = 20   -- boards of a site that one call looks at ahead of time
local MOST_SENT = 300      -- requests that one call releases, of many sites. A tick releases the others

local now, most = now_ms(), tonumber(ARGV[1])
local sites, admitted, held, busy = {}, 0, 0, 0
local is_short = memory_is_short()
redis.call('HSET', P .. ':stats', 'produced_at', string.format('%.0f', now))

-- Put a board off that is due and cannot be scanned. It is overdue since the first due time, however often it is put
-- off.
local function put_off(site, id, name, at, due)
  redis.call('ZADD', P .. ':boards', at, name)
  redis.call('ZADD', site.key .. ':overdue', 'NX', due, id)
end

-- The more boards of a site are held back, the rarer the looks at each, so that a call has room for boards of other
-- sites.
local function next_try(site) return now + math.max(5000, 100 * redis.call('ZCARD', site.key .. ':overdue')) end

local function site_of(name)
  local site = sites[name] or load_site(name)
  if site and not sites[name] then
    site.plan.room, site.plan.backfill_room = room_for(site)
    site.plan.has_pending = has_pending(name)
    sites[name] = site
  end
  return site
end

-- Return whether a board was never scanned. Its first scan is backfill, as is all that it shows.
local function is_first(site, id)
  local plan = site.plan
  if plan.has_unscanned == nil then plan.has_unscanned = redis.call('EXISTS', site.key .. ':unscanned') == 1 end
  return plan.has_unscanned and redis.call('SISMEMBER', site.key .. ':unscanned', id) == 1
end

local function with_level(line, change)
  return (string.gsub(line, '^(%S+ %p list )(%d)', function(head, level) return head .. change(tonumber(level)) end))
end

local function as_backfill(level) return math.min(BACKFILL, level) end

-- What a page of all news tells goes before what may be news.
local function as_pinged(level) return level > BACKFILL and math.min(9, level + 1) or level end

-- Begin a board's scan. `v` holds its line, scan, walked and interval_ms. A scan that went far is followed by a walk,
-- which begins at the end of this one.
local function begin_scan(site, id, key, v)
  local scan, walked, line = tonumber(v.scan or 0) + 1, tonumber(v.walked or 0), v.line
  if walked > 1 then redis.call('HSET', key, 'walk', math.max(walked, tonumber(v.walk or 0))) end
  redis.call('HSET', key, 'scan', scan, 'started_at', now, 'fresh', 0, 'walked', 0)
  if is_first(site, id) then
    line = with_level(line, as_backfill)
  elseif v.ping then
    line = with_level(line, as_pinged)
  end
  if not retry_dead_page(site, v.dead, line) then
    admit_line(site, (string.gsub(line, '@SCAN@', tostring(scan))), now, true)
  end
  plan_scan(site, id, now + v.interval_ms, v.interval_ms, v.min_ms == v.max_ms)
  admitted = admitted + 1
end

-- Return the time at which the budget allows a site's next scan, and reserve it. Behind its due time, or ahead of it,
-- the scan moves the site's price.
local function reserve_scan(site, id, v, due)
  local plan = site.plan
  local requests = budget_of(site)
  plan.scan_at = math.max(plan.scan_at or tonumber(redis.call('HGET', site.key, 'scan_at') or 0), now - BURST)
  -- A page that tells of all boards waits behind none of them.
  if v.ping or (is_news(site, id) and v.min_ms ~= v.max_ms) then return reserve_ping(site, now, BURST) end
  local at = math.max(now, plan.scan_at)
  plan.scan_at = plan.scan_at + HOUR / requests
  if v.history then
    plan.pulse = plan.pulse or read_pulse(site, uniform_interval(site, requests))
    local boards = redis.call('SCARD', site.key .. ':boards')
    plan.pulse.price = moved_price(plan.pulse.price, math.max(1, boards), at - due, tonumber(v.interval_ms))
  end
  return at
end

local BOARD = {'line', 'open', 'interval_ms', 'scan', 'walked', 'walk', 'slot', 'history', 'min_ms', 'max_ms', 'ping',
  'dead'}
local function read_board(site, id, key)
  if site.plan.has_pending then apply_board(site.name, id, now) end
  local values, v = redis.call('HMGET', key, unpack(BOARD)), {}
  for i, field in ipairs(BOARD) do v[field] = values[i] end
  return v
end

local function is_held(site, id)
  if is_short or site.paused or site.draining or site.page.fresh >= site.plan.room then return true end
  return site.page.fresh >= site.plan.backfill_room and is_first(site, id)
end

-- Give a due board its slot where the budget is spent. Return whether it goes now.
local function has_slot(site, id, name, key, v, due)
  if site.terms.freshness == '' then return true end
  if v.slot then
    redis.call('HDEL', key, 'slot')
    return true
  end
  -- A front page waits for the scans that its last look asked for: another look would not bring them forward.
  local ping_at = is_news(site, id) and ping_at_of(site) or 0
  local at = reserve_scan(site, id, v, due)
  if ping_at <= now and (at <= now or v.min_ms == v.max_ms) then return true end  -- an interval of its own stands
  at = math.max(at, ping_at)
  redis.call('HSET', key, 'slot', string.format('%.0f', at))
  put_off(site, id, name, at, due)
  return false
end

local names = redis.call('ZRANGE', P .. ':boards', '-inf', now, 'BYSCORE', 'LIMIT', 0, most, 'WITHSCORES')
for i = 1, #names, 2 do
  local name, due = names[i], tonumber(names[i + 1])
  local site_name, id = string.match(name, '^(%S+) (.*)$')
  local site = site_of(site_name)
  local key = site and board_key(site, id)
  local v = site and read_board(site, id, key)
  if not site or not v.line then
    redis.call('ZREM', P .. ':boards', name)
  elseif site.is_withdrawn then  -- not overdue: nobody wants its scan
    redis.call('ZADD', P .. ':boards', now + 60000, name)
  elseif is_held(site, id) then
    held = held + 1
    put_off(site, id, name, next_try(site), due)
  elseif tonumber(v.open) > 0 then
    busy = busy + 1
    put_off(site, id, name, now + math.max(1000, v.interval_ms / 4), due)
  elseif has_slot(site, id, name, key, v, due) then
    begin_scan(site, id, key, v)
    due = tonumber(redis.call('ZSCORE', site.key .. ':overdue', id) or due)
    redis.call('ZREM', site.key .. ':overdue', id)
    measure(P .. ':stats', 'late', AGES_S, math.max(0, (now - due) / 1000))
  end
end

-- Scan a site's next board ahead of time. Return the time of the next look at the site, or nil when a board went.
local function scan_early(site)
  local plan = site.plan
  if plan.scan_at and plan.scan_at > now then return plan.scan_at end
  local head = redis.call('ZRANGE', site.key .. ':by_due', 0, 0, 'WITHSCORES')
  if not head[1] then return now + 3600000 end
  local id, name = head[1], site.name .. ' ' .. head[1]
  local key, due = board_key(site, id), tonumber(redis.call('ZSCORE', P .. ':boards', name))
  local v = read_board(site, id, key)
  if not due or not v.line or v.min_ms == v.max_ms then  -- an operator may have fixed the interval since
    redis.call('ZREM', site.key .. ':by_due', id)
  elseif due ~= tonumber(head[2]) then
    redis.call('ZADD', site.key .. ':by_due', due, id)
  elseif due <= now or is_held(site, id) then
    return now + 1000
  elseif due - EARLY * v.interval_ms > now then
    return due - EARLY * v.interval_ms
  elseif tonumber(v.open) > 0 then
    redis.call('ZADD', site.key .. ':by_due', due + v.interval_ms, id)
  else
    local requests, goal = budget_of(site)
    plan.pulse = plan.pulse or read_pulse(site, uniform_interval(site, requests))
    if meets_goal(plan.pulse, goal) then return now + 5000 end
    reserve_scan(site, id, v, due)
    begin_scan(site, id, key, v)
  end
end

local looks = 0
for _, name in ipairs(redis.call('ZRANGE', P .. ':early', '-inf', now, 'BYSCORE', 'LIMIT', 0, most)) do
  if looks >= most then break end
  local site, again = site_of(name), nil
  looks = looks + 1
  if site and site.terms.freshness ~= '' then
    site.plan.scan_at = site.plan.scan_at or tonumber(redis.call('HGET', site.key, 'scan_at') or 0)
    for _ = 1, EARLY_AT_ONCE do
      if again or looks >= most then break end
      again, looks = scan_early(site), looks + 1
    end
    redis.call('ZADD', P .. ':early', again or now + 1, name)
  else
    redis.call('ZREM', P .. ':early', name)
  end
end
-- A full pass goes one list page at a time: the next one goes when this one is done and the site has room.
local fulls = redis.call('ZRANGE', P .. ':fulls', '-inf', now, 'BYSCORE', 'LIMIT', 0, most)
for _, name in ipairs(fulls) do
  local site_name, id = string.match(name, '^(%S+) (.*)$')
  local site = site_of(site_name)
  local key = site and board_key(site, id)
  if site and site.plan.has_pending then apply_board(site_name, id, now) end
  local v = site and redis.call('HMGET', key, 'full_line', 'full_next', 'full_open', 'full_due', 'full_scan', 'held')
  if not site or not v[1] or site.terms.full_pass_ms == 0 then
    redis.call('ZREM', P .. ':fulls', name)
  else
    local again = now + 1000
    if is_short or site.paused or site.draining or v[6] or site.page.fresh >= site.plan.backfill_room
        or tonumber(v[3] or 0) > 0 then
      again = now + 5000
    elseif v[2] and (string.sub(v[2], 1, 2) ~= '- ' or tonumber(v[4]) <= now) then
      redis.call('HDEL', key, 'full_next')
      -- That page was not read.
      if tonumber(v[4]) <= now then redis.call('HSET', key, 'full_due', now + site.terms.full_pass_ms) end
      admit_line(site, v[2], now, true)
    elseif tonumber(v[4]) > now then
      again = tonumber(v[4])
    else
      local scan = tonumber(v[5] or 0) + 1
      redis.call('HSET', key, 'full_scan', scan, 'full_due', now + site.terms.full_pass_ms)
      admit_line(site, (string.gsub(v[1], '@SCAN@', tostring(scan))), now, true)
    end
    redis.call('ZADD', P .. ':fulls', again, name)
  end
end
local sent = 0
for _, site in pairs(sites) do
  if site.plan.pulse then write_pulse(site, site.plan.pulse) end
  if site.plan.scan_at then redis.call('HSET', site.key, 'scan_at', string.format('%.0f', site.plan.scan_at)) end
  flush_admission(site)
  if sent < MOST_SENT then sent = sent + release(site, now) else schedule_look(site, now) end
  if site.page.fresh > 0 then schedule_look(site, now + 1000) end
end
return {0, admitted, held, busy, (#names == 2 * most or #fulls == most or looks >= most) and 1 or 0}
