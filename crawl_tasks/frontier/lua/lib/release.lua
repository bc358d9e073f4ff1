-- Releases, leases, dead letters.
-- INCLUDES: lib/site lib/admission lib/backlog_limit lib/boards lib/circuit_breaker lib/fair_share lib/quiet_hours
-- INCLUDES: lib/slots schedule/scan
-- EXPORTS: wake call_store outbox_size untaken store_due life_ms put_items count_stored rejected_page store_is_behind
-- EXPORTS: has_ready memory_is_short release spend end_lease
-- EXPORTS: bury drop_request revive let_dead_page_go retry_dead_page start_kind put_start refuse_start return_start

-- Release --------------------------------------------------------------------------------------------------

-- Wake one worker that waits for messages of a queue, at the end of the call. It wakes the next one where it leaves
-- messages.
function wake(queue) CALL.wakes[queue] = true end

-- Call the store task, unless a call waits in its queue.
function call_store(now)
  if redis.call('LLEN', 'store') > 0 then return end
  redis.call('LPUSH', 'store', HINTS.store('', '', '', '', string.format('%.0f', now)))
  redis.call('HSET', P .. ':stats', 'store_called_at', string.format('%.0f', now))
  wake('store')
end

-- Return the number of pages in the outbox, as this call first saw it.
function outbox_size()
  CALL.pages = CALL.pages or redis.call('XLEN', P .. ':outbox')
  return CALL.pages
end

-- Count the pages that no store worker has taken. Taken ones are no reason for another call: each commit would call
-- again.
function untaken()
  local all = redis.call('XLEN', P .. ':outbox')
  local taken = all > 0 and redis.pcall('XPENDING', P .. ':outbox', 'store') or {}  -- no group before the first read
  return all - (taken[1] or 0)
end

-- Return the present time for what a site did, which tells its life: not before `since`, though Redis' clock was set
-- back.
function life_ms(site, now) return string.format('%.0f', math.max(now, site.since)) end

-- Put a page's items behind the others in the outbox. The id tells the life of the site, as its time does.
function put_items(site, now, items)
  local reply = site.since > now and redis.pcall('XADD', P .. ':outbox', life_ms(site, now) .. '-*', 'items', items)
  if not reply or reply.err then redis.call('XADD', P .. ':outbox', '*', 'items', items) end  -- ids only rise
end

-- Return the time to call the store for any waiting page: some time after the last call. One in the future was made
-- before Redis' clock was set back.
local STORE_EVERY_MS = 500
function store_due()
  local at = tonumber(redis.call('HGET', P .. ':stats', 'store_called_at') or 0)
  return at > now_ms() and 0 or at + STORE_EVERY_MS
end

-- Count pages that have left the outbox. A site that is being rebuilt counts from its publication on.
function count_stored(name, pages)
  local key = P .. ':s:' .. name
  if redis.call('HEXISTS', key, 'stored') == 1 then
    redis.call('HINCRBY', key, 'stored', string.format('%.0f', pages))
  end
end

-- Return the site of a page that the store rejected, whether the present site of this name committed it, not one that
-- was removed, and when that one began.
function rejected_page(entry)
  local name = string.match(entry[2][2], '^%["([^"]*)"') or ''
  local since, at = tonumber(redis.call('HGET', P .. ':s:' .. name, 'since') or 0), tonumber(entry[2][6])
  return name, not at or at >= since, since
end

-- Backpressure: while the store is behind nothing more is fetched, or the outbox would fill Redis. Ticks look again.
function store_is_behind() return outbox_size() >= OUTBOX_MAX end

function has_ready(site, stage)
  for _, key in ipairs(ready_keys(site, stage)) do
    if redis.call('EXISTS', key) == 1 then return true end
  end
  return false
end

-- Return whether Redis' memory is nearly full. Then no scan begins and no start entry is claimed. Open requests are
-- still finished, which frees memory.
local MEMORY_SHARE = 0.85
function memory_is_short()
  local info = redis.call('INFO', 'memory')
  local most = tonumber(string.match(info, 'maxmemory:(%d+)') or 0)
  return most > 0 and tonumber(string.match(info, 'used_memory:(%d+)')) > most * MEMORY_SHARE
end

-- Return how many tried requests of a stage may go: with them, those under way take half of the window at the most. So
-- pages that hang cannot hold every place at once. Read only when a tried request has come to the front of its list.
local function retry_places(site, stage)
  local places, key = math.max(1, math.floor(site.window / 2)), site.key
  local rids = redis.call('ZRANGE', key .. ':leased', 0, -1)  -- bounded by the window, 256 at most
  for _, rid in ipairs(redis.call('ZRANGE', key .. ':released:' .. stage, 0, -1)) do rids[#rids + 1] = rid end
  for _, held in ipairs(#rids > 0 and redis.call('HMGET', key .. ':open', unpack(rids)) or {}) do
    local token, attempt = string.match(held or '', WIRE.held.token_attempt)
    -- A lease has counted its own.
    if token and tonumber(attempt) > (token == '0' and 0 or 1) then places = places - 1 end
  end
  return places
end

-- Put ready requests of a stage on their queue, of all lanes or of one. Tried ones without a place go behind the
-- others.
local function release_stage(site, stage, most, now, lane)
  local keys = lane_keys(site, stage, lane)
  if most <= 0 or #keys == 0 then return 0 end
  local count, last, retries, held_back, queue = 0, #keys, nil, {}, queue_of(site, stage)
  keys[last + 1] = site.terms.order[stage] == 'lifo' and 'RIGHT' or 'LEFT'
  keys[last + 2] = 'COUNT'
  while count < most and #held_back < most do
    keys[last + 3] = most - count
    local popped = redis.call('LMPOP', last, unpack(keys))
    if not popped then break end
    local scores, held = {}, {}
    for _, entry in ipairs(popped[2]) do
      local rid, work, attempt, address = string.match(entry, WIRE.entry.rid_work_attempt_address)
      if attempt ~= '0' then retries = (retries or retry_places(site, stage)) - 1 end
      if attempt ~= '0' and retries < 0 then
        held_back[#held_back + 1] = entry
      else
        scores[#scores + 1], scores[#scores + 2] = now, rid
        held[#held + 1], held[#held + 2] = rid, '0 ' .. work
        redis.call('LPUSH', queue, HINTS[stage](site.name, rid, address, queue, string.format('%.0f', now)))
      end
    end
    if #scores > 0 then
      redis.call('ZADD', site.key .. ':released:' .. stage, unpack(scores))
      redis.call('HSET', site.key .. ':open', unpack(held))
      count = count + #scores / 2
    end
  end
  for _, entry in ipairs(held_back) do return_tried(site, entry) end
  if count > 0 then wake(queue) end
  return count
end

-- Release a probe of a stage with an open breaker, at the time for one. Only one is on its way at a time.
local function release_probe(site, stage, now)
  local at = probe_at(site, stage)
  if at > now then schedule_look(site, at) end
  if at > now or redis.call('ZCARD', site.key .. ':released:' .. stage) > 0 then return 0 end
  if not has_ready(site, stage) then unpark_tripped(site, stage) end
  return release_stage(site, stage, 1, now)
end

-- Return the free places of each kind of lane and stage in the site's window, the requests on their way to a worker,
-- and all released ones. The leases of all stages and the stage's own released requests take places, so that a stage
-- without a worker cannot take the window from the others. Requests that were released a moment ago are on their way,
-- and count for all stages.
local function count_places(site, room, now)
  local places, coming, released = {news = {}, backfill = {}}, 0, 0
  for _, stage in ipairs(STAGES) do
    local key = site.key .. ':released:' .. stage
    local standing = redis.call('ZCARD', key)
    local free = site.open_breakers[stage] and 0 or room - standing
    places.news[stage], places.backfill[stage], released = free, free, released + standing
    if standing > 0 then
      coming = coming + redis.call('ZCOUNT', key, now - (site.delay > 0 and ON_ITS_WAY or COMING), '+inf')
    end
  end
  return places, coming, released
end

-- Release the requests that the gate allows, as the last step of a verb: one at a time at a site with a delay, else as
-- many as the window has room for.
function release(site, now)
  note_change(site)
  if site.paused or store_is_behind() then return 0 end
  site.leased = redis.call('ZCARD', site.key .. ':leased')
  local room = math.min(CHUNK, site.window - site.leased)
  if room <= 0 then return 0 end
  local ready = count_ready(site)
  local has_probes = site.open_breakers.list or site.open_breakers.post or site.open_breakers.comment
  if ready.all == 0 and not has_probes then return 0 end
  local places, coming, released
  if release_at(site, now, 0) <= now then places, coming, released = count_places(site, room, now) end
  local at = release_at(site, now, site.delay > 0 and coming or 0)
  if at > now then
    schedule_look(site, at)
    return 0
  end
  local limit = find_limit(site, ready, site.leased + released, room)
  if limit then limit = hold_back(limit, places, ready) end
  local function send(kind, stage, most, lane)
    local sent = release_stage(site, stage, math.min(most, places[kind][stage]), now, lane)
    note_sent(limit, places, stage, sent)
    return sent
  end
  local quota, count = divide_among_lanes(site, count_waiting(places, ready), site.delay > 0 and 1 or room - coming), 0
  for _, stage in ipairs(STAGES) do count = count + send('news', stage, quota[stage], stage) end
  if quota.backfill > 0 then
    local scans = redis.call('LLEN', ready_key(site, 'list', BACKFILL))  -- before the history that they show
    local first = send('backfill', 'list', math.min(quota.backfill, scans), 'backfill')
    quota.backfill, count = quota.backfill - first, count + first
    for i = #STAGES, 1, -1 do  -- comment pages first: a thread is finished before the next one begins
      local sent = send('backfill', STAGES[i], quota.backfill, 'backfill')
      quota.backfill, count = quota.backfill - sent, count + sent
    end
  end
  for _, stage in ipairs(has_probes and STAGES or {}) do
    if site.open_breakers[stage] then count = count + release_probe(site, stage, now) end
  end
  if count > 0 and site.delay > 0 then schedule_look(site, math.max(now + 1, release_at(site, now, coming + count))) end
  return count
end

-- Count a request against the daily budget.
function spend(site, now)
  local today = day_at(site.terms.offsets, now)
  redis.call('HSET', site.key, 'spent', string.format('%.0f %.0f', today, spent_on(site.spent, today) + 1))
end

-- Leases ---------------------------------------------------------------------------------------------------

-- End a request's lease when the fencing token is the right one. Return its entry, else nil.
function end_lease(site, rid, token)
  local held = redis.call('HGET', site.key .. ':open', rid)
  local holder, work = string.match(held or '', WIRE.held.token_work)
  if not holder or holder == '0' or holder ~= token then return nil end
  redis.call('HDEL', site.key .. ':open', rid)
  redis.call('ZREM', site.key .. ':leased', rid)
  return rid .. ' ' .. work
end

local DAY = 86400000

-- End a list page that was not read. A full pass would end with it, a period before the next one: it goes on from this
-- page tomorrow.
local function end_unread(site, level, address, payload, now)
  local said = cjson.decode(payload)
  local key, name = board_key(site, said[1]), site.name .. ' ' .. said[1]
  if board_field(said, level) == 'full_open' and redis.call('HEXISTS', key, 'full_line') == 1 then
    -- Without a word of the guard: produce.lua lets it wait.
    local due = math.min(now + DAY, tonumber(redis.call('HGET', key, 'full_due') or math.huge))
    redis.call('HSET', key, 'full_next', WIRE.write_line('-', '~', 'list', level, address .. ' ' .. payload),
      'full_due', due)
    redis.call('ZADD', P .. ':fulls', 'XX', due, name)
  end
  close_scan(site, payload, level, 0, now)
end

-- Drop a request for good: it counts as done, and as dropped, and the outbox tells the database. An open list page ends
-- its board's scan.
function drop_request(site, entry, is_open, now)
  local stage, level, address, payload = string.match(entry, WIRE.entry.stage_priority_address_payload)
  redis.call('HINCRBY', site.key, 'done:' .. stage, 1)
  redis.call('HINCRBY', site.key, 'let_go:' .. stage, 1)
  if stage == 'list' and is_open then end_unread(site, level, address, payload, now) end
  put_items(site, now, '["' .. site.name .. '",[],[],[],[],[],"",' .. cjson.encode({life_ms(site, now), entry}) .. ']')
end

-- Make a request ready that was taken off the dead or parked ones, with no attempts counted. flush_admission() must
-- follow.
function revive(site, state, rid, entry)
  local stage, level, request = string.match(entry, WIRE.entry.stage_priority_request)
  append_ready(site, stage, level, WIRE.write_entry(rid, stage, level, 0, request))
  if stage == 'list' and state == 'dead' then
    note_board(site, string.match(request, WIRE.request.payload), level, 1)
  end
end

-- Give a board's dead page 1 up for good: another one was tried instead of it, or read.
function let_dead_page_go(site, id, now)
  local key = board_key(site, id)
  local rid = redis.call('HGET', key, 'dead')
  redis.call('HDEL', key, 'dead')
  local text = rid and redis.call('HGET', site.key .. ':dead', rid)
  if not text then return end
  redis.call('HDEL', site.key .. ':dead', rid)
  drop_request(site, string.match(text, '\n(.*)$'), false, now)
end

-- Begin a board's scan with its dead page 1, so that a board has one such entry however often it is tried. Return
-- whether there is one with the address that the site file gives the board now.
function retry_dead_page(site, rid, line)
  local key, text = site.key .. ':dead', rid and redis.call('HGET', site.key .. ':dead', rid)
  local entry = string.match(text or '', '\n(.*)$')
  if not entry or string.match(entry, WIRE.entry.address) ~= string.match(line, WIRE.line.address) then return false end
  redis.call('HDEL', key, rid)
  revive(site, 'dead', rid, entry)
  return true
end

-- Note that the page 1 of a board's scan is given up: nobody watches the board until one is read.
local function note_unread(site, rid, level, payload, reason, now, state)
  local said = cjson.decode(payload)
  local key = board_key(site, said[1])
  if said[2] > 1 or board_field(said, level) ~= 'open' or redis.call('HEXISTS', key, 'line') == 0 then return end
  if state == 'dead' and redis.call('HGET', key, 'dead') ~= rid then
    let_dead_page_go(site, said[1], now)
    redis.call('HSET', key, 'dead', rid)
  end
  note_unwatched(site, said[1], state, string.match(reason, '^%S*'), now)
end

-- Give a request up: put its entry among the dead or the parked, as "<now> <reason>\n<entry>".
function bury(site, entry, reason, now, state)
  state = state or 'dead'
  local rid, stage, level, address, payload = string.match(entry, WIRE.entry.rid_stage_priority_address_payload)
  redis.call('HSET', site.key .. ':' .. state, rid, string.format('%.0f', now) .. ' ' .. reason .. '\n' .. entry)
  tally(site, state .. ':' .. string.match(reason, '^%S*'), 1)
  if stage == 'list' then note_unread(site, rid, level, payload, reason, now, state) end
  if stage == 'list' and state == 'dead' then end_unread(site, level, address, payload, now) end
end

-- Start entries of other programs ----------------------------------------------------------------------------

-- Return the kind of a start key, list, set or zset. One that is empty now keeps the kind that the other program gave
-- it: its next command would fail on another.
function start_kind(key)
  local kind = redis.call('TYPE', key).ok
  return kind ~= 'none' and kind or redis.call('HGET', P .. ':start_kinds', key) or 'list'
end

-- Put an entry into a start key: in front, or behind the others. Return nil, or the kind of a key where nothing can
-- wait.
function put_start(key, kind, score, entry, is_first)
  local there = redis.call('TYPE', key).ok
  if there ~= 'none' then kind = there end
  if kind == 'zset' then redis.call('ZADD', key, tonumber(score) or 0, entry)
  elseif kind == 'set' then redis.call('SADD', key, entry)
  elseif kind == 'list' then redis.call(is_first and 'LPUSH' or 'RPUSH', key, entry)
  else return kind end
end

-- Reject a start entry that means no request, with the reason. The newest thousand are kept.
function refuse_start(reason, entry)
  redis.call('HINCRBY', P .. ':starts', 'refused', 1)
  redis.call('LPUSH', P .. ':refused', 'start: ' .. reason .. '\n' .. entry)
  redis.call('LTRIM', P .. ':refused', 0, 999)
end

-- Put an entry back into a start key, or reject it where nothing can wait.
function return_start(key, kind, score, entry, is_first)
  local other = put_start(key, kind, score, entry, is_first)
  if other then refuse_start(key .. ' is a ' .. other .. ', where nothing can wait', entry) end
end
