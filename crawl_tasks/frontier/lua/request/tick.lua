-- Tick: delayed requests become ready, unread pages are retried, expired leases and lost messages go back, sites with
-- room release, waiting items and decisions call the store task. One caller at a time is the leader, and the others
-- stand by.
-- INCLUDES: lib/site guard/tables lib/admission lib/boards lib/circuit_breaker lib/idle lib/release
-- FLAGS: allow-oom
-- KEYS 1: key prefix
-- ARGV 1: caller
-- ARGV 2: most sites to look at
-- ARGV 3: ms for which the caller stays the leader
-- RETURNS 0: {0, ms until something is due, expired leases, lost messages, then name and idle_state() of each site that
--   an expired lease left idle}
-- RETURNS 1: {1, ms to stand by, 0, 0}, another caller is the leader

local MOST_LEASES = 4    -- the longest wait, in leases, of a request whose leases run out
local APART = 8          -- moments over which such requests are spread
local AT_ONCE = 100  -- requests of one kind that a call moves at a site
local ENOUGH = 150  -- moved requests after which a call looks at no further site. They stay due

local now = now_ms()
local leader = redis.call('GET', P .. ':ticker')
-- A lock that lasts longer than any leader takes it is of before Redis' clock was set back.
if leader and leader ~= ARGV[1] and redis.call('PTTL', P .. ':ticker') <= tonumber(ARGV[3]) then
  return {1, tonumber(ARGV[3]) / 2, 0, 0}
end
redis.call('DEL', P .. ':ticker')  -- a first write that frees memory: at maxmemory Redis lets the others follow
redis.call('SET', P .. ':ticker', ARGV[1], 'PX', ARGV[3])

if redis.call('PTTL', P .. ':only') > ONLY_MS then redis.call('DEL', P .. ':only') end  -- the same

local function wake_delayed(site)
  local due = redis.call('ZRANGE', site.key .. ':delayed', '-inf', now, 'BYSCORE', 'LIMIT', 0, AT_ONCE)
  for _, entry in ipairs(due) do
    redis.call('ZREM', site.key .. ':delayed', entry)
    return_tried(site, entry)
  end
  return #due
end

-- Return the ms until a request whose lease ran out is tried again. The death of a worker takes all its leases, so that
-- the first time says nothing of the page. Those that it happens to again wait, longer each time and apart from each
-- other: a page that kills its worker takes the others with it no more, and the deaths of workers hit none of them each
-- time.
local function wait_of_expired(site, rid, attempt)
  if attempt == 1 then return 0 end
  local wait = site.terms.lease_ms * math.min(attempt - 1, MOST_LEASES) * (1 + rid % APART / APART)
  return math.min(site.terms.probe_ms, wait)
end

local function expire_leases(site)
  local late = redis.call('ZRANGE', site.key .. ':leased', '-inf', now, 'BYSCORE', 'LIMIT', 0, AT_ONCE)
  for _, rid in ipairs(late) do
    redis.call('ZREM', site.key .. ':leased', rid)
    local held = redis.call('HGET', site.key .. ':open', rid)
    redis.call('HDEL', site.key .. ':open', rid)
    local entry = rid .. ' ' .. (string.match(held or '', WIRE.held.work) or '')
    local stage, attempt = string.match(entry, WIRE.entry.stage_attempt)
    attempt = tonumber(attempt)
    redis.call('HINCRBY', site.key, 'expired', 1)
    if not attempt then
      tally(site, 'entryless', 1)  -- somebody deleted the entry: `check --deep` tells, and `recover` brings it back
    elseif attempt >= site.terms.max_attempts then
      redis.call('HINCRBY', site.key, 'failed:' .. WIRE.reason.Hung, 1)
      note_bad_page(site, stage, rid, WIRE.reason.Hung, now)
      local why = ' each worker that took it died or overran its lease, ' .. attempt .. ' attempts'
      bury(site, entry, WIRE.reason.Hung .. why, now, 'parked')
    else
      local wait = wait_of_expired(site, rid, attempt)
      if wait == 0 then return_tried(site, entry) else redis.call('ZADD', site.key .. ':delayed', now + wait, entry) end
    end
  end
  return #late
end

-- Return the release time of our oldest message in a queue: nil for an empty queue, 0 when messages of others hide it.
local function oldest_hint(queue)
  local tail = redis.call('LRANGE', queue, -16, -1)
  for i = #tail, 1, -1 do
    local at = string.match(tail[i], '"crawl_at": ?(%d+)')
    if at then return tonumber(at) end
  end
  if #tail > 0 then return 0 end
end

-- Put requests back whose messages are lost. Queues are first in, first out: requests released before the oldest
-- message still there have been taken. One of them may have been taken just now, after a long wait, and be leased at
-- once. So a request is marked (half a millisecond in its score) the first time, and counts as lost the second time.
local function return_lost(site, stage)
  local key = site.key .. ':released:' .. stage
  local first = redis.call('ZRANGE', key, 0, 0, 'WITHSCORES')
  if not first[2] or tonumber(first[2]) > now - GRACE then return 0 end
  local oldest = oldest_hint(queue_of(site, stage))
  local before = math.min(now - GRACE, (oldest or math.huge) - 1)
  local missing = redis.call('ZRANGE', key, '-inf', before, 'BYSCORE', 'LIMIT', 0, AT_ONCE, 'WITHSCORES')
  local lost = 0
  for i = 1, #missing, 2 do
    local rid = missing[i]
    if missing[i + 1] % 1 == 0 then
      redis.call('ZADD', key, string.format('%.1f', now + 0.5), rid)
    else
      redis.call('ZREM', key, rid)
      local held = redis.call('HGET', site.key .. ':open', rid)
      redis.call('HDEL', site.key .. ':open', rid)
      if held then return_ready(site, rid .. ' ' .. string.match(held, WIRE.held.work)) end
      lost = lost + 1
    end
  end
  if lost > 0 then redis.call('HINCRBY', site.key, 'lost', lost) end
  return lost
end

-- Retry unread pages. Return the time of the next look, and infinity where there are none.
local function retry_pages(site)
  local at = math.huge
  if redis.call('EXISTS', site.key .. ':parked') == 0 then return at end
  for _, stage in ipairs(STAGES) do at = math.min(at, retry_unread(site, stage, now) or at) end
  return at
end

-- Return the time of the next look at a site, nil when nothing of it is open. `at` is the time of its next retry.
local function next_look(site, at)
  for _, name in ipairs({':delayed', ':leased'}) do
    local first = redis.call('ZRANGE', site.key .. name, 0, 0, 'WITHSCORES')
    if first[2] then at = math.min(at, tonumber(first[2])) end
  end
  for _, stage in ipairs(STAGES) do
    local first = redis.call('ZRANGE', site.key .. ':released:' .. stage, 0, 0, 'WITHSCORES')
    if first[2] then at = math.min(at, math.max(first[2] + GRACE, now + 1000)) end
    local waits, probe = has_ready(site, stage), probe_at(site, stage)
    if probe and (waits or redis.call('EXISTS', tripped_key(site, stage)) == 1) then
      at = math.min(at, math.max(probe, now + 1000))
    elseif waits then
      at = math.min(at, math.max(site.next_at, now + 1000))
    end
  end
  if at < math.huge then return math.max(at, now + 1) end
end

local expired, lost, moved, idle = 0, 0, 0, {}
local names = redis.call('ZRANGE', P .. ':due', '-inf', now, 'BYSCORE', 'LIMIT', 0, ARGV[2])
for _, name in ipairs(names) do
  if moved > ENOUGH then break end
  redis.call('ZREM', P .. ':due', name)
  local site, before = load_site(name), expired + lost
  if site then
    if has_pending(name) and apply_boards(name, AT_ONCE / 2, now) > 0 then moved = ENOUGH end
    if flush_some(site) ~= '0' then moved = ENOUGH end
    moved = moved + wake_delayed(site)
    local late = expire_leases(site)
    expired = expired + late
    for _, stage in ipairs(STAGES) do lost = lost + return_lost(site, stage) end
    local retry_at = retry_pages(site)
    local released = release(site, now)
    moved = moved + expired + lost - before + released
    local state = released == 0 and late > 0 and idle_state(site) or 0
    if state > 0 then idle[#idle + 1], idle[#idle + 2] = name, state end
    local goes_on = has_pending(name) or site.flushing and redis.call('HEXISTS', site.key, 'flushing') == 1
    local at = goes_on and now + 1 or next_look(site, retry_at)
    if at then schedule_look(site, at) end
  end
end
local waits = redis.call('XLEN', P .. ':outbox') > 0 or redis.call('EXISTS', P .. ':undecided') == 1
local call_at = waits and store_due() or math.huge
if call_at <= now then call_store(now) end

local first = redis.call('ZRANGE', P .. ':due', 0, 0, 'WITHSCORES')
local wait = math.min(tonumber(first[2] or math.huge), call_at > now and call_at or math.huge) - now
return {0, math.floor(math.max(0, math.min(wait, ARGV[3] / 3))), expired, lost, unpack(idle)}
