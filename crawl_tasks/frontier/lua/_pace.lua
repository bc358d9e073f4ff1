-- Shared by every script, in front of _site.lua: how much slower than its file says a site is asked. Changes only
-- the field `slow` of the site, "<level> <good answers since> <token of the last lease before the level changed>"; without
-- it the level is 0.
-- Each level doubles the delay and halves the window. 429, 503, timeouts and slow answers raise it by one, STEADY good
-- answers lower it by one. What was asked before the last change says nothing of the level after it, so that one bad
-- moment of a site with many requests in flight counts once.

local SLOWEST = 6        -- 2^6: 64 times the delay
local STEADY = 5         -- good answers for a step back
local LEAST_DELAY = 20   -- ms that are doubled where the file asks for no delay

local function read_slow(text)
  local level, good, at = string.match(text or '', '^(%d+) (%d+) (%d+)$')
  return tonumber(level or 0), tonumber(good or 0), tonumber(at or 0)
end

-- The delay and the window that hold now.
local function pace_of(slow, delay, window)
  local level = read_slow(slow)
  if level == 0 then return delay, window end
  return math.max(delay, LEAST_DELAY) * 2 ^ level, math.max(1, math.floor(window / 2 ^ level))
end

local function write_slow(site, level, good, before)
  site.slow = level > 0 and string.format('%d %d %s', level, good, before) or false
  if site.slow then redis.call('HSET', site.key, 'slow', site.slow) else redis.call('HDEL', site.key, 'slow') end
  site.delay, site.window = pace_of(site.slow, site.file_delay, site.file_window)
end

-- `took` is how long the attempt held its worker, ms. The site rests as many times longer as its level is high, so that
-- one that answers nobody holds a seventh of one worker in the end, whatever its window.
local function slow_down(site, token, now, took)
  local level, _, before = read_slow(site.slow)
  if tonumber(token) <= before then return end
  write_slow(site, math.min(SLOWEST, level + 1), 0, redis.call('HGET', site.key, 'fence'))
  local rest = math.max(site.delay, took * math.min(SLOWEST, level + 1))
  if now + rest > site.next_at then
    site.next_at = now + rest
    redis.call('HSET', site.key, 'next_at', string.format('%.0f', site.next_at))
  end
end

local function speed_up(site, token)
  local level, good, before = read_slow(site.slow)
  if level == 0 or tonumber(token) <= before then return end
  if good + 1 < STEADY then
    write_slow(site, level, good + 1, string.format('%.0f', before))
  else
    write_slow(site, level - 1, 0, redis.call('HGET', site.key, 'fence'))
  end
end
