-- Do what is due: delayed requests become ready, expired leases and lost messages go back, sites with room
-- release, waiting items call the store. One caller at a time has the floor; the others stand by.
-- KEYS 1: key prefix
-- ARGV 1: caller
-- ARGV 2: most sites to look at
-- ARGV 3: ms for which the caller keeps the floor
-- RETURNS 0: {0, ms until something is due, expired leases, lost messages}
-- RETURNS 1: {1, ms to stand by, 0, 0}, another has the floor

local now = now_ms()
local floor = redis.call('GET', P .. ':ticker')
if floor and floor ~= ARGV[1] then return {1, tonumber(ARGV[3]) / 2, 0, 0} end
redis.call('DEL', P .. ':ticker')  -- a first write that frees memory: at maxmemory Redis lets the others follow
redis.call('SET', P .. ':ticker', ARGV[1], 'PX', ARGV[3])

local function wake_delayed(site)
  local due = redis.call('ZRANGE', site.key .. ':delayed', '-inf', now, 'BYSCORE', 'LIMIT', 0, CHUNK)
  for _, entry in ipairs(due) do
    redis.call('ZREM', site.key .. ':delayed', entry)
    return_ready(site, entry)
  end
end

local function expire_leases(site)
  local late = redis.call('ZRANGE', site.key .. ':leased', '-inf', now, 'BYSCORE', 'LIMIT', 0, CHUNK)
  for _, rid in ipairs(late) do
    redis.call('ZREM', site.key .. ':leased', rid)
    local held = redis.call('HGET', site.key .. ':open', rid)
    redis.call('HDEL', site.key .. ':open', rid)
    local entry = rid .. ' ' .. string.match(held or '', '^%d* ?(.*)$')
    local attempt = tonumber(string.match(entry, '^%d+ %a+ %d (%d+)'))
    redis.call('HINCRBY', site.key, 'expired', 1)
    if not attempt then
      tally(site, 'entryless', 1)  -- somebody deleted it; `fsck` tells, and `recover` brings it back
    elseif attempt >= site.max_attempts then
      bury(site, entry, 'lost every worker that took it died or overran its lease, ' .. attempt .. ' times', now)
    else
      return_ready(site, entry)
    end
  end
  return #late
end

-- The release time of the oldest of our messages in a queue; nil when there is none, 0 when strangers hide it.
local function oldest_hint(queue)
  local tail = redis.call('LRANGE', queue, -16, -1)
  for i = #tail, 1, -1 do
    local at = string.match(tail[i], '"crawl_at": ?(%d+)')
    if at then return tonumber(at) end
  end
  if #tail > 0 then return 0 end
end

-- Queues are first in, first out: what was released before the oldest message still there has been taken. Taken just
-- now, perhaps, after a long wait: so it is marked (half a millisecond in its score) and lost when it is found again.
local function return_lost(site, stage)
  local key = site.key .. ':released:' .. stage
  if redis.call('ZCARD', key) == 0 then return 0 end
  local oldest = oldest_hint(stage)
  local before = math.min(now - GRACE, (oldest or math.huge) - 1)
  local missing = redis.call('ZRANGE', key, '-inf', before, 'BYSCORE', 'LIMIT', 0, CHUNK, 'WITHSCORES')
  local lost = 0
  for i = 1, #missing, 2 do
    local rid = missing[i]
    if missing[i + 1] % 1 == 0 then
      redis.call('ZADD', key, string.format('%.1f', now + 0.5), rid)
    else
      redis.call('ZREM', key, rid)
      local held = redis.call('HGET', site.key .. ':open', rid)
      redis.call('HDEL', site.key .. ':open', rid)
      if held then return_ready(site, rid .. ' ' .. string.match(held, '^%d+ (.*)$')) end
      lost = lost + 1
    end
  end
  if lost > 0 then redis.call('HINCRBY', site.key, 'lost', lost) end
  return lost
end

-- When to look at the site again, nil when nothing of it is open.
local function next_look(site)
  local at = math.huge
  for _, name in ipairs({':delayed', ':leased'}) do
    local first = redis.call('ZRANGE', site.key .. name, 0, 0, 'WITHSCORES')
    if first[2] then at = math.min(at, tonumber(first[2])) end
  end
  for _, stage in ipairs(STAGES) do
    local first = redis.call('ZRANGE', site.key .. ':released:' .. stage, 0, 0, 'WITHSCORES')
    if first[2] then at = math.min(at, math.max(first[2] + GRACE, now + 1000)) end
    local waits, probe = has_ready(site, stage), probe_at(site, stage)
    if probe and (waits or redis.call('EXISTS', suspects_key(site, stage)) == 1) then
      at = math.min(at, math.max(probe, now + 1000))
    elseif waits then
      at = math.min(at, math.max(site.next_at, now + 1000))
    end
  end
  if at < math.huge then return math.max(at, now + 1) end
end

local expired, lost = 0, 0
local names = redis.call('ZRANGE', P .. ':due', '-inf', now, 'BYSCORE', 'LIMIT', 0, ARGV[2])
for _, name in ipairs(names) do
  redis.call('ZREM', P .. ':due', name)
  local site = load_site(name)
  if site then
    wake_delayed(site)
    expired = expired + expire_leases(site)
    for _, stage in ipairs(STAGES) do lost = lost + return_lost(site, stage) end
    release(site, now)
    local at = next_look(site)
    if at then attend(site, at) end
  end
end
local call_at = redis.call('XLEN', P .. ':outbox') > 0 and store_due() or math.huge
if call_at <= now then call_store(now) end

local first = redis.call('ZRANGE', P .. ':due', 0, 0, 'WITHSCORES')
local wait = math.min(tonumber(first[2] or math.huge), call_at > now and call_at or math.huge) - now
return {0, math.floor(math.max(0, math.min(wait, ARGV[3] / 3))), expired, lost}
