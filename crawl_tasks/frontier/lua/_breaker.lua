-- Shared by every script, behind _admission.lua: the breaker of a site's stage. Pages that say nothing are parked; after too
-- many of them the stage is shut: nothing of it is released or leased but a probe now and then, until one is read well.
--
-- `shut:STAGE` of the site is "<since> <when a probe may go> <rid of the last probe> <reason>". `readings:STAGE` are the
-- last readings, newest last, 1 well and 0 not; those before the first bad one are left out. `suspects` are the requests
-- that were parked by them.

local READINGS, SUSPECTS = 20, 500

local function suspects_key(site, stage) return site.key .. ':suspects:' .. stage end

-- When a probe may go; nil where the stage is not shut.
local function probe_at(site, stage)
  local said = site.shut[stage]
  return said and tonumber(string.match(said, '^%d+ (%d+)'))
end

local function plan_probe(site, stage, at, rid)
  local since, last, reason = string.match(site.shut[stage], '^(%d+) %d+ (%d+) (.*)$')
  site.shut[stage] = table.concat({since, string.format('%.0f', at), rid or last, reason}, ' ')
  redis.call('HSET', site.key, 'shut:' .. stage, site.shut[stage])
end

-- Make a parked request ready again, in front and with its attempts forgotten; say whether it was parked.
local function unpark(site, rid)
  local text = redis.call('HGET', site.key .. ':parked', rid)
  if not text then return false end
  redis.call('HDEL', site.key .. ':parked', rid)
  local stage, level, rest = string.match(text, '\n%d+ (%a+) (%d) %d+ (.*)$')
  return_ready(site, rid .. ' ' .. stage .. ' ' .. level .. ' 0 ' .. rest)
  return true
end

-- Give the next probe something to ask for: the suspect that waits longest.
local function unpark_suspect(site, stage)
  for _ = 1, SUSPECTS do
    local rid = redis.call('LPOP', suspects_key(site, stage))
    if not rid then return false end
    if unpark(site, rid) then return true end
  end
  return false
end

-- Open a stage again and let its suspects go; give how many.
local function open_stage(site, stage)
  local revived = 0
  for _, rid in ipairs(redis.call('LRANGE', suspects_key(site, stage), 0, -1)) do
    if unpark(site, rid) then revived = revived + 1 end
  end
  redis.call('HDEL', site.key, 'shut:' .. stage, 'readings:' .. stage)
  redis.call('UNLINK', suspects_key(site, stage), site.key .. ':kept:' .. stage, site.key .. ':pages:' .. stage)
  site.shut[stage] = false
  return revived
end

-- Only a probe opens a shut stage: good pages that were under way when it was shut would open it at once.
local function note_good_page(site, stage, rid)
  local said, field = site.shut[stage], 'readings:' .. stage
  if said then
    if string.match(said, '^%d+ %d+ (%d+)') == rid then open_stage(site, stage) end
    return
  end
  local past = redis.call('HGET', site.key, field)
  if not past then return end
  past = string.sub(past .. '1', -math.max(READINGS, site.breaker_after))
  if string.find(past, '0', 1, true) then
    redis.call('HSET', site.key, field, past)
  else
    redis.call('HDEL', site.key, field)
    redis.call('DEL', suspects_key(site, stage))
  end
end

local function note_bad_page(site, stage, rid, reason, now)
  redis.call('RPUSH', suspects_key(site, stage), rid)
  redis.call('LTRIM', suspects_key(site, stage), -SUSPECTS, -1)
  if site.shut[stage] then return end
  local field = 'readings:' .. stage
  local past = (redis.call('HGET', site.key, field) or '') .. '0'
  past = string.sub(past, -math.max(READINGS, site.breaker_after))
  local _, bad = string.gsub(string.sub(past, -READINGS), '0', '')
  if #string.match(past, '0*$') < site.breaker_after and bad * 100 < site.breaker_percent * READINGS then
    redis.call('HSET', site.key, field, past)
    return
  end
  redis.call('HDEL', site.key, field)
  site.shut[stage] = string.format('%.0f %.0f 0 %s', now, now + site.probe, reason)
  redis.call('HSET', site.key, 'shut:' .. stage, site.shut[stage])
  tally(site, 'shut:' .. stage, 1)
end
