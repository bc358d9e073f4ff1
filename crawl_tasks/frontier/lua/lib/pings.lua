-- Shared by every script, behind scan.lua: pings. A front page shows counts for each board. A board whose counts changed is due at
-- once: its `ping` is the time of that look, ms, until a scan that began later ends. `front` of a site holds the counts
-- that were seen last, by board. `ping_at` of the site is the time from which the budget allows one more scan for a ping.
-- EXPORTS: ping_boards reserve_ping

local MOST_PINGS = 100  -- of one look. The next one compares the other boards again
local PINGED = {'line', 'newest', 'started_at', 'held', 'min_ms', 'max_ms', 'ping'}

-- Return whether a board's own scans have seen its last post, of a time in seconds, 0 for unknown.
local function was_seen(v, posted, is_known)
  local newest, unit = tonumber(v[2] or 0), posted % 60 == 0 and 60 or 1  -- many forums show minutes
  local is_before = (posted + unit) * 1000 <= tonumber(v[3] or 0)  -- no other post of the same second followed the scan
  if posted == 0 then return false end
  if newest > 0 then return posted < newest or (posted == newest and is_before) end
  return not is_known and is_before
end

-- Make a board due whose counts changed. Return whether its counts may be kept: a board before its first scan is compared again.
local function ping(site, id, posted, is_known, now)
  if site.news >= MOST_PINGS then return false end
  local key = board_key(site, id)
  local v = redis.call('HMGET', key, unpack(PINGED))
  if not v[1] or v[4] or v[5] == v[6] then return true end
  if redis.call('SISMEMBER', site.key .. ':unscanned', id) == 1 then return false end
  if was_seen(v, posted, is_known) then return true end
  redis.call('HSET', key, 'ping', now)
  redis.call('ZADD', P .. ':boards', 'XX', 'LT', now, site.name .. ' ' .. id)
  tally(site, 'pings', 1)
  site.news = site.news + 1
  return true
end

-- Compare the lines of a front page, from a place on, with its last look.
function ping_boards(site, lines, from, now)
  local front = site.key .. ':front'
  for first = from, #lines, CHUNK do
    local ids, shown, kept = {}, {}, {}
    for i = first, math.min(first + CHUNK - 1, #lines) do
      local said = cjson.decode(string.match(lines[i], '^%S+ %p %a+ %d %S+ (.*)$'))
      ids[#ids + 1], shown[#shown + 1] = said[1], said[3]
    end
    local known = redis.call('HMGET', front, unpack(ids))
    for place = 1, #ids do
      local i = (place + now) % #ids + 1  -- no board is always among the last
      local id = ids[i]
      local posted, counts = string.match(shown[i], '^(%d+)|(.*)$')
      if known[i] ~= counts and ping(site, id, tonumber(posted), known[i], now) then
        kept[#kept + 1], kept[#kept + 2] = id, counts
      end
    end
    for i = 1, #kept, CHUNK do redis.call('HSET', front, unpack(kept, i, math.min(i + CHUNK - 1, #kept))) end
  end
end

-- Return the time at which the budget allows the next scan for a ping, and reserve it. Scans without one wait behind.
function reserve_ping(site, now, burst)
  local each = HOUR / budget_of(site)
  site.ping_at = math.max(site.ping_at or tonumber(redis.call('HGET', site.key, 'ping_at') or 0), now - burst)
  local at = math.max(now, site.ping_at)
  site.ping_at, site.scan_at = site.ping_at + each, site.scan_at + each
  redis.call('HSET', site.key, 'ping_at', string.format('%.0f', site.ping_at))
  return at
end
