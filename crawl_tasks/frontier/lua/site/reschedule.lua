-- Change the scan schedule of a site's boards for an operator: their interval, or the next scan.
-- `fix` sets an interval that holds until the site file gives the board another. `free` goes back to the site file's. `now`
-- makes boards due. `walk` does too, and a walk to the end of the list follows it, with or without news. `hold` takes boards
-- out of the schedule. `go` puts them back, due at once.
-- KEYS 1: key prefix
-- ARGV 1: site
-- ARGV 2: fix, free, now, walk, hold or go
-- ARGV 3: interval in ms, for fix
-- ARGV 4: who decided
-- ARGV 5: why
-- ARGV 6..: boards
-- RETURNS 0: {0, boards changed, boards that are held and stay so}
-- RETURNS -1: the site is not published

local site = load_site(ARGV[1])
if not site then return {-1, 0, 0} end
local now, act, is_pending = now_ms(), ARGV[2], has_pending(site.name)
local changed, held = 0, 0

-- Plan the next scan of a board that is in the schedule. One that was due and held back has another due time: it is overdue no more.
local function plan(id, at)
  redis.call('ZADD', P .. ':boards', 'XX', at, site.name .. ' ' .. id)
  redis.call('ZREM', site.key .. ':overdue', id)
end

-- Move the next scan to a new interval after the last one.
local function move_scan(id, key, interval)
  local started = tonumber(redis.call('HGET', key, 'started_at') or now - interval)
  plan(id, math.max(now, started + interval))
end

for i = 6, #ARGV do
  local id = ARGV[i]
  local key, name = board_key(site, id), site.name .. ' ' .. id
  if is_pending then apply_board(site.name, id, now) end
  local v = redis.call('HMGET', key, 'line', 'terms', 'interval_ms', 'held')
  local start, least, most = string.match(v[2] or '', '^(%S+) (%S+) (%S+)$')
  if v[1] and act == 'walk' then walk_whole(site, id) end
  if not v[1] then
    -- no such board
  elseif act == 'fix' then
    redis.call('HSET', key, 'min_ms', ARGV[3], 'max_ms', ARGV[3], 'interval_ms', ARGV[3], 'fixed_ms', ARGV[3])
    move_scan(id, key, tonumber(ARGV[3]))
    -- The remedy of a gap: the next one is told again.
    if string.match(redis.call('HGET', site.key, 'scan_gap') or '', '^%d+ %d+ (.*)$') == id then redis.call('HDEL', site.key, 'scan_gap') end
    decisions.decide(site.name, 'interval ' .. id, ARGV[3] .. ' ' .. (v[2] or ''), ARGV[4], ARGV[5])
    changed = changed + 1
  elseif act == 'free' then
    if redis.call('HDEL', key, 'fixed_ms') == 1 and start then
      redis.call('HSET', key, 'min_ms', least, 'max_ms', most, 'interval_ms', start)
      move_scan(id, key, tonumber(start))
    end
    decisions.decide(site.name, 'interval ' .. id, 'file', ARGV[4], ARGV[5])
    changed = changed + 1
  elseif act == 'hold' then
    redis.call('HSET', key, 'held', 1)
    redis.call('ZREM', P .. ':boards', name)
    redis.call('ZREM', site.key .. ':overdue', id)
    decisions.decide(site.name, 'hold ' .. id, 'held', ARGV[4], ARGV[5])
    changed = changed + 1
  elseif act == 'go' then
    if redis.call('HDEL', key, 'held') == 1 then redis.call('ZADD', P .. ':boards', now, name) end
    decisions.decide(site.name, 'hold ' .. id, 'go', ARGV[4], ARGV[5])
    changed = changed + 1
  elseif v[4] then
    held = held + 1
  else
    redis.call('ZADD', P .. ':boards', now, name)
    redis.call('ZREM', site.key .. ':overdue', id)
    changed = changed + 1
  end
end
note_change(site)
return {0, changed, held}
