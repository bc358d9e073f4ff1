-- Publish a site, its terms and its boards to all workers. Boards that left the file are scanned no more. The others keep
-- their schedule, within the new bounds. An interval that an operator fixed holds until the file gives the board another.
-- A held board stays out of the schedule. With a new version of the file an open circuit breaker may send a probe at once.
-- KEYS 1: key prefix
-- ARGV 1: site
-- ARGV 2: version
-- ARGV 3: the site file as JSON
-- ARGV 4: publisher, as host:directory of the site file, or '' for a recovery
-- ARGV 5: number of terms
-- ARGV 6..: name and value of each term, then for each board: id, line, first, least and greatest interval in ms,
--   the line of a full pass or '', ms until the first one
-- RETURNS 0: {0, boards}

local name, key, now = ARGV[1], P .. ':s:' .. ARGV[1], now_ms()
local before = load_site(name)
local gate = redis.call('HMGET', key, 'paused', 'draining', 'paused_before')
if before and not gate[3] then decisions.adopt_gate(name, gate[1], gate[2]) end
redis.call('HSET', P .. ':sites', name, ARGV[3])
redis.call('HSET', key, 'version', ARGV[2])
redis.call('HSETNX', key, 'since', now)
if redis.call('HEXISTS', key, 'stored') == 0 then  -- an older version did not count: as if all had been stored
  local done = 0
  for _, stage in ipairs(STAGES) do done = done + (redis.call('HGET', key, 'done:' .. stage) or 0) end
  redis.call('HSET', key, 'stored', done)
end
redis.call('HSETNX', key, 'fence', now)  -- not 0: after a loss, no token is given a second time
redis.call('SET', P .. ':epoch', now, 'NX')
local first_board = 6 + 2 * tonumber(ARGV[5])
for i = 6, first_board - 1, 2 do redis.call('HSET', key, ARGV[i], ARGV[i + 1]) end

-- The number of a board's first scan. A board that leaves the file and comes back gets no number that the guard knows, since
-- every scan admits at least one request.
local admitted = redis.call('HGET', key, 'admitted') or 0

-- Plan a board's full pass. It keeps its day, unless a shorter period makes it due sooner.
local function plan_full(board, id, line, first)
  if line == '' then
    redis.call('HDEL', board, 'full_line', 'full_next', 'full_due')
    redis.call('ZREM', P .. ':fulls', name .. ' ' .. id)
    return
  end
  local due = tonumber(redis.call('HGET', board, 'full_due') or now + first)
  due = math.min(due, now + redis.call('HGET', key, 'full_pass_ms'))
  redis.call('HSET', board, 'full_line', line, 'full_due', due)
  redis.call('HSETNX', board, 'full_scan', admitted)
  redis.call('ZADD', P .. ':fulls', 'LT', due, name .. ' ' .. id)
end

-- A board that is new to the ledger may be held, or have an interval, since before Redis was emptied.
local function restore_decisions(board, id, terms)
  local ms, of = string.match(decisions.value(name, 'interval ' .. id) or '', '^(%d+) (.*)$')
  if ms and of == terms then redis.call('HSET', board, 'fixed_ms', ms, 'terms', terms, 'interval_ms', ms) end
  if decisions.value(name, 'hold ' .. id) == 'held' then redis.call('HSET', board, 'held', 1) end
end

-- To publish a site from a file brings it back.
if ARGV[4] ~= '' then
  redis.call('HSET', key, 'publisher', ARGV[4])
  if decisions.value(name, 'site') == 'removed' then decisions.decide(name, 'site', 'published', '', ARGV[4]) end
  if decisions.value(name, 'file') == 'gone' then decisions.decide(name, 'file', 'there', '', ARGV[4]) end
end
if decisions.value(name, 'file') == 'gone' then redis.call('HSET', key, 'withdrawn', 1) else redis.call('HDEL', key, 'withdrawn') end

local has_decisions = redis.call('EXISTS', decisions.key(name)) == 1
local kept, boards = {}, 0
for i = first_board, #ARGV, 7 do
  local id, line, start, least, most = ARGV[i], ARGV[i + 1], ARGV[i + 2], ARGV[i + 3], ARGV[i + 4]
  local board = key .. ':board:' .. id
  kept[id], boards = true, boards + 1
  local terms = start .. ' ' .. least .. ' ' .. most
  if has_decisions and redis.call('HEXISTS', board, 'terms') == 0 then restore_decisions(board, id, terms) end
  local v = redis.call('HMGET', board, 'interval_ms', 'fixed_ms', 'terms', 'held')
  if v[2] or v[4] then decisions.adopt_board(name, id, v[4], v[2], v[3]) end
  if v[2] and v[3] == terms then
    least, most = v[2], v[2]
  else
    redis.call('HDEL', board, 'fixed_ms')
  end
  local interval = math.max(tonumber(least), math.min(tonumber(most), tonumber(v[1] or start)))
  redis.call('HSET', board, 'line', line, 'min_ms', least, 'max_ms', most, 'interval_ms', interval, 'terms', terms)
  redis.call('HSETNX', board, 'scan', admitted)
  if redis.call('HSETNX', board, 'open', 0) == 0 and tonumber(redis.call('HGET', board, 'open')) > 0 then
    redis.call('SADD', key .. ':scanning', id)
  end
  if not v[4] then redis.call('ZADD', P .. ':boards', 'NX', now, name .. ' ' .. id) end
  plan_full(board, id, ARGV[i + 5], tonumber(ARGV[i + 6]))
  if redis.call('SADD', key .. ':boards', id) == 1 then redis.call('SADD', key .. ':unscanned', id) end
end

-- Take a board out. The counts of its open list pages stay as long as there are any: the file may name the board again.
local function take_out(id)
  local board = key .. ':board:' .. id
  local v = redis.call('HMGET', board, 'open', 'full_open', 'walk_open', 'scan', 'full_scan')
  redis.call('DEL', board)
  if (v[1] or 0) + (v[2] or 0) + (v[3] or 0) > 0 then
    redis.call('HSET', board, 'open', v[1] or 0, 'full_open', v[2] or 0, 'scan', v[4] or 0, 'full_scan', v[5] or 0)
    if tonumber(v[3] or 0) > 0 then redis.call('HSET', board, 'walk_open', v[3]) end
  end
  for _, set in ipairs({':boards', ':unscanned', ':scanning'}) do redis.call('SREM', key .. set, id) end
  redis.call('ZREM', key .. ':overdue', id)
  redis.call('ZREM', P .. ':boards', name .. ' ' .. id)
  redis.call('ZREM', P .. ':fulls', name .. ' ' .. id)
end

for _, id in ipairs(redis.call('SMEMBERS', key .. ':boards')) do  -- bounded by the site file
  if not kept[id] then take_out(id) end
end
if not before and has_decisions and not gate[3] then decisions.apply_gate(name) end
if before and before.version ~= ARGV[2] then
  for _, stage in ipairs(STAGES) do
    if before.open_breakers[stage] then plan_probe(before, stage, now) end
  end
end
recount_pulse(load_site(name), kept)
schedule_look({key = key, name = name}, now)
note_change({name = name})
return {0, boards}
