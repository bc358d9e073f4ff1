-- Admit the first list page of every board that is due and not being scanned, while its site is under its
-- threshold. A board has one scan at a time, so two callers, or a late one, change nothing.
-- KEYS 1: key prefix
-- ARGV 1: most boards to look at
-- RETURNS 0: {0, scans admitted, boards held back by the threshold, boards still being scanned}

local now = now_ms()
local sites, admitted, held, busy = {}, 0, 0, 0
local is_short = memory_is_short()
redis.call('HSET', P .. ':stats', 'produced_at', string.format('%.0f', now))

-- A board that is due and cannot be scanned is overdue since it was first due, however often it is put off.
local function put_off(site, id, name, at, due)
  redis.call('ZADD', P .. ':boards', at, name)
  redis.call('ZADD', site.key .. ':overdue', 'NX', due, id)
end

-- The more boards of a site are held back, the less often each is looked at, so that other sites' have their turn.
local function next_try(site) return now + math.max(5000, 100 * redis.call('ZCARD', site.key .. ':overdue')) end

local function site_of(name)
  local site = sites[name] or load_site(name)
  if site and not sites[name] then
    site.room = room_for(site)
    sites[name] = site
  end
  return site
end

local names = redis.call('ZRANGE', P .. ':boards', '-inf', now, 'BYSCORE', 'LIMIT', 0, ARGV[1], 'WITHSCORES')
for i = 1, #names, 2 do
  local name, due = names[i], tonumber(names[i + 1])
  local site_name, id = string.match(name, '^(%S+) (.*)$')
  local site = site_of(site_name)
  local key = site and board_key(site, id)
  local v = site and redis.call('HMGET', key, 'line', 'open', 'interval_ms', 'scan', 'walked')
  if not site or not v[1] then
    redis.call('ZREM', P .. ':boards', name)
  elseif is_short or site.paused or site.draining or site.fresh >= site.room then
    held = held + 1
    put_off(site, id, name, next_try(site), due)
  elseif tonumber(v[2]) > 0 then
    busy = busy + 1
    put_off(site, id, name, now + math.max(1000, v[3] / 4), due)
  else
    local scan, walked = tonumber(v[4] or 0) + 1, tonumber(v[5] or 0)
    local slack = walked > 1 and walked or 0
    redis.call('HSET', key, 'scan', scan, 'started_at', now, 'fresh', 0, 'walked', 0, 'slack', slack)
    admit_line(site, (string.gsub(v[1], '@SCAN@', tostring(scan))), now, true)
    redis.call('ZADD', P .. ':boards', now + v[3], name)
    due = tonumber(redis.call('ZSCORE', site.key .. ':overdue', id) or due)
    redis.call('ZREM', site.key .. ':overdue', id)
    measure(P .. ':stats', 'late', AGES_S, math.max(0, (now - due) / 1000))
    admitted = admitted + 1
  end
end
-- A full pass goes one list page at a time: the next one when this one is done and the site has room.
for _, name in ipairs(redis.call('ZRANGE', P .. ':fulls', '-inf', now, 'BYSCORE', 'LIMIT', 0, ARGV[1])) do
  local site_name, id = string.match(name, '^(%S+) (.*)$')
  local site = site_of(site_name)
  local key = site and board_key(site, id)
  local v = site and redis.call('HMGET', key, 'full_line', 'full_next', 'full_open', 'full_due', 'full_scan', 'held')
  if not site or not v[1] or site.full == 0 then
    redis.call('ZREM', P .. ':fulls', name)
  else
    local again = now + 1000
    if is_short or site.paused or site.draining or v[6] or site.fresh >= site.room or tonumber(v[3] or 0) > 0 then
      again = now + 5000
    elseif v[2] then
      redis.call('HDEL', key, 'full_next')
      admit_line(site, v[2], now, true)
    elseif tonumber(v[4]) > now then
      again = tonumber(v[4])
    else
      local scan = tonumber(v[5] or 0) + 1
      redis.call('HSET', key, 'full_scan', scan, 'full_due', now + site.full)
      admit_line(site, (string.gsub(v[1], '@SCAN@', tostring(scan))), now, true)
    end
    redis.call('ZADD', P .. ':fulls', again, name)
  end
end
for _, site in pairs(sites) do
  settle(site)
  release(site, now)
  if site.fresh > 0 then attend(site, now + 1000) end
end
return {0, admitted, held, busy}
