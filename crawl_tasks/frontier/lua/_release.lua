-- Shared by every script, behind _admission.lua: release, leases, and what nobody can use. Defines functions, changes nothing.

-- Release --------------------------------------------------------------------------------------------------

-- Ask the store to come, unless it is asked already.
local function call_store(now)
  if redis.call('LLEN', 'store') > 0 then return end
  redis.call('LPUSH', 'store', (string.gsub(HINTS.store, '@AT@', string.format('%.0f', now))))
  redis.call('XADD', P .. ':bell:store', 'MAXLEN', 1, '*', 'n', 1)
end

-- Pages that no store worker has taken yet: those in its hands are no reason to call it again.
local function untaken()
  local all = redis.call('XLEN', P .. ':outbox')
  local taken = all > 0 and redis.pcall('XPENDING', P .. ':outbox', 'store') or {}  -- no group before the first draw
  return all - (taken[1] or 0)
end

-- When to call the store for what waits, however little it is: some time after the call before, when its bell rang.
local STORE_EVERY_MS = 500
local function store_due()
  local rung = redis.call('XREVRANGE', P .. ':bell:store', '+', '-', 'COUNT', 1)[1]
  return rung and tonumber(string.match(rung[1], '^%d+')) + STORE_EVERY_MS or 0
end

-- Count pages of a site that wait for the store no more. A site that is being rebuilt counts from its publication on.
local function count_settled(name, pages)
  local key = P .. ':s:' .. name
  if redis.call('HEXISTS', key, 'stored') == 1 then redis.call('HINCRBY', key, 'stored', string.format('%.0f', pages)) end
end

-- While the store is behind, nothing more is fetched: what cannot be stored would fill Redis. Ticks look again.
local function store_is_behind() return redis.call('XLEN', P .. ':outbox') >= OUTBOX_MAX end

local function has_ready(site, stage)
  for _, key in ipairs(ready_keys(site, stage)) do
    if redis.call('EXISTS', key) == 1 then return true end
  end
  return false
end

-- Nothing new is begun when Redis' memory is nearly full; what is open is finished, which frees some.
local MEMORY_SHARE = 0.85
local function memory_is_short()
  local info = redis.call('INFO', 'memory')
  local most = tonumber(string.match(info, 'maxmemory:(%d+)') or 0)
  return most > 0 and tonumber(string.match(info, 'used_memory:(%d+)')) > most * MEMORY_SHARE
end

-- Put requests of a stage on its queue, all or those of one lane.
local function release_stage(site, stage, most, now, lane)
  local keys = lane_keys(site, stage, lane)
  if most <= 0 or #keys == 0 then return 0 end
  local count, last = 0, #keys
  keys[last + 1] = stage_letter(site.order, stage) == 'l' and 'RIGHT' or 'LEFT'
  keys[last + 2] = 'COUNT'
  while count < most do
    keys[last + 3] = most - count
    local popped = redis.call('LMPOP', last, unpack(keys))
    if not popped then break end
    local scores, held = {}, {}
    for _, entry in ipairs(popped[2]) do
      local rid, rest, address = string.match(entry, '^(%d+) (%a+ %d %d+ (%S+) .*)$')
      scores[#scores + 1], scores[#scores + 2] = now, rid
      held[#held + 1], held[#held + 2] = rid, '0 ' .. rest
      local fields = {SITE = site.name, RID = rid, ADDRESS = address, AT = string.format('%.0f', now)}
      redis.call('LPUSH', stage, (string.gsub(HINTS[stage], '@(%u+)@', fields)))
    end
    redis.call('ZADD', site.key .. ':released:' .. stage, unpack(scores))
    redis.call('HSET', site.key .. ':open', unpack(held))
    count = count + #popped[2]
  end
  if count > 0 then redis.call('XADD', P .. ':bell:' .. stage, 'MAXLEN', 1, '*', 'n', count) end
  return count
end

-- Send a probe of a shut stage when it is time for one.
local function release_probe(site, stage, now)
  local at = probe_at(site, stage)
  if at > now then attend(site, at) end
  if at > now or redis.call('ZCARD', site.key .. ':released:' .. stage) > 0 then return 0 end
  if not has_ready(site, stage) then unpark_suspect(site, stage) end
  return release_stage(site, stage, 1, now)
end

-- A stage stands in the site's window with what all stages hold in lease and what it has released itself, so that one
-- that no worker serves cannot take the window from the others. What was released a moment ago is on its way to a
-- worker and counts for all.
local function count_places(site, room, now)
  local places, coming, released = {}, 0, 0
  for _, stage in ipairs(STAGES) do
    local key = site.key .. ':released:' .. stage
    local standing = redis.call('ZCARD', key)
    places[stage], released = site.shut[stage] and 0 or room - standing, released + standing
    if standing > 0 then coming = coming + redis.call('ZCOUNT', key, now - (site.delay > 0 and ON_ITS_WAY or COMING), '+inf') end
  end
  return places, coming, released
end

-- Release what the gate allows, as the last step of a verb: one request at a time where there is a rate, else as many as
-- the window has room for.
local function release(site, now)
  note_change(site)
  if site.paused or store_is_behind() then return 0 end
  local leased = redis.call('ZCARD', site.key .. ':leased')
  local room = math.min(CHUNK, site.window - leased)
  if room <= 0 then return 0 end
  local places, coming, released
  if release_at(site, now, 0) <= now then places, coming, released = count_places(site, room, now) end
  local at = release_at(site, now, site.delay > 0 and coming or 0)
  if at > now then
    attend(site, at)
    return 0
  end
  local ready = count_ready(site)
  local weight = weigh(site, ready.list + ready.post + ready.comment, leased + released, room)
  if weight then weight = hold_back(weight, places, ready) end
  local function send(stage, most, lane)
    local sent = release_stage(site, stage, math.min(most, places[stage]), now, lane)
    note_sent(weight, places, stage, sent)
    return sent
  end
  local turns, count = share_turns(site, count_waiting(site, places, ready), site.delay > 0 and 1 or room - coming), 0
  for _, stage in ipairs(STAGES) do count = count + send(stage, turns[stage], stage) end
  for i = #STAGES, 1, -1 do  -- what ends a thread before what begins the next
    local sent = send(STAGES[i], turns.backfill, 'backfill')
    turns.backfill, count = turns.backfill - sent, count + sent
  end
  for _, stage in ipairs(STAGES) do
    if site.shut[stage] then count = count + release_probe(site, stage, now) end
  end
  if count > 0 and site.delay > 0 then attend(site, math.max(now + 1, release_at(site, now, coming + count))) end
  return count
end

-- Count a request that goes out today.
local function spend(site, now)
  local today = day_at(site.offsets, now)
  redis.call('HSET', site.key, 'spent', string.format('%.0f %.0f', today, spent_on(site.spent, today) + 1))
end

-- Leases ---------------------------------------------------------------------------------------------------

-- Take a request out of its lease when the token is the right one: its entry, else nil.
local function end_lease(site, rid, token)
  local held = redis.call('HGET', site.key .. ':open', rid)
  local holder, rest = string.match(held or '', '^(%d+) (.*)$')
  if not holder or holder == '0' or holder ~= token then return nil end
  redis.call('HDEL', site.key .. ':open', rid)
  redis.call('ZREM', site.key .. ':leased', rid)
  return rid .. ' ' .. rest
end

-- A board's scan is over when none of its list requests is open. A scan that found something halves the
-- board's interval, one that found nothing lengthens it by half, within the bounds of the site.
local function close_scan(site, payload, fresh, now)
  local key, open = note_board(site, payload, -1)
  if not key then return end
  if fresh > 0 then redis.call('HINCRBY', key, 'fresh', fresh) end
  if open > 0 then return end
  local v = redis.call('HMGET', key, 'interval_ms', 'min_ms', 'max_ms', 'fresh', 'started_at')
  local factor = tonumber(v[4] or 0) > 0 and 0.5 or 1.5
  local interval = math.floor(math.max(tonumber(v[2]), math.min(tonumber(v[3]), v[1] * factor)))
  redis.call('HSET', key, 'interval_ms', interval, 'scanned_at', now, 'last_fresh', v[4] or 0, 'fresh', 0, 'open', 0)
  local id = cjson.decode(payload)[1]
  redis.call('ZADD', P .. ':boards', 'XX', tonumber(v[5] or now) + interval, site.name .. ' ' .. id)
  redis.call('SREM', site.key .. ':unscanned', id)
  redis.call('ZREM', site.key .. ':overdue', id)
end

-- Bury an entry with its reason: "<now> <reason>\n<entry>".
local function bury(site, entry, reason, now)
  local rid, stage, payload = string.match(entry, '^(%d+) (%a+) %d %d+ %S+ (.*)$')
  redis.call('HSET', site.key .. ':dead', rid, string.format('%.0f', now) .. ' ' .. reason .. '\n' .. entry)
  tally(site, 'dead:' .. string.match(reason, '^%S*'), 1)
  if stage == 'list' then close_scan(site, payload, 0, now) end
end

-- Start entries of other programs ----------------------------------------------------------------------------

-- Set an entry aside that means no request, with the reason; the newest thousand are kept.
local function refuse_start(reason, entry)
  redis.call('HINCRBY', P .. ':starts', 'refused', 1)
  redis.call('LPUSH', P .. ':refused', 'start: ' .. reason .. '\n' .. entry)
  redis.call('LTRIM', P .. ':refused', 0, 999)
end
