-- Backoff (like Scrapy's AutoThrottle). A site under strain gets requests more slowly than its file says. Changes only
-- the field `slow` of the site, "<level> <good answers since> <token of the last lease before the level changed>".
-- Without the field the level is 0. Each level doubles the delay and halves the window. A site that refuses requests,
-- or is under strain (failures.lua), gets one level more, STEADY good answers lower it by one. A request that was
-- leased before the last change says nothing of the new level, so that one bad moment of a site with many requests in
-- flight counts once.
-- EXPORTS: backed_off slow_down speed_up

local SLOWEST = 6        -- 2^6: 64 times the delay
local STEADY = 5         -- good answers for a step back
local LEAST_DELAY = 20   -- ms that are doubled where the file sets no delay: doubling 0 would slow nothing

local function read_backoff(text)
  local level, good, at = string.match(text or '', '^(%d+) (%d+) (%d+)$')
  return tonumber(level or 0), tonumber(good or 0), tonumber(at or 0)
end

-- Return the delay and the window that hold at a level.
function backed_off(slow, delay, window)
  local level = read_backoff(slow)
  if level == 0 then return delay, window end
  return math.max(delay, LEAST_DELAY) * 2 ^ level, math.max(1, math.floor(window / 2 ^ level))
end

local function write_backoff(site, level, good, before)
  site.slow = level > 0 and string.format('%d %d %s', level, good, before) or false
  if site.slow then redis.call('HSET', site.key, 'slow', site.slow) else redis.call('HDEL', site.key, 'slow') end
  site.delay, site.window = backed_off(site.slow, site.file_delay, site.terms.window)
end

-- Raise the level. `took` is the time for which the attempt held its worker, ms. The site then rests for that time
-- times the level, so that a site that answers nobody holds a seventh of one worker in the end, whatever its window. A
-- page that failed before says nothing new: it keeps the level, and a site in order stays so.
function slow_down(site, token, now, took, is_known)
  local level, _, before = read_backoff(site.slow)
  if tonumber(token) <= before then return end
  level = is_known and level or math.min(SLOWEST, level + 1)
  write_backoff(site, level, 0, string.format('%.0f', site.fence))
  local rest = math.max(site.delay, took * level)
  if now + rest > site.next_at then
    site.next_at = now + rest
    redis.call('HSET', site.key, 'next_at', string.format('%.0f', site.next_at))
  end
end

-- Count a good answer, and lower the level after STEADY of them.
function speed_up(site, token)
  local level, good, before = read_backoff(site.slow)
  if level == 0 or tonumber(token) <= before then return end
  if good + 1 < STEADY then
    write_backoff(site, level, good + 1, string.format('%.0f', before))
  else
    write_backoff(site, level - 1, 0, string.format('%.0f', site.fence))
  end
end
