-- The boards of a publication. What differs is staged first, some hundred boards in a call, in a key that no scan
-- reads. publish.lua switches the version and renames that key to `pending` at one instant. From then on a pending
-- board counts, and is applied: written to its place before anybody reads it, or some in a call.
--
-- A pending board is one text: line, start, least and greatest interval in ms, line of a full pass, ms until the first
-- one, with NUL between them. A board that left the file has an empty text. The field '' says how far that is:
-- "rows <cursor>", then "sums <cursor> <items> <hours> <rate> <found in time>" for a site with the priced policy.
-- INCLUDES: lib/site lib/admission lib/decisions schedule/interval schedule/pings
-- EXPORTS: stage_boards apply_board apply_boards has_pending note_unwatched note_first_page plan_board fix_board
-- EXPORTS: free_board hold_board release_board

local ROW = 7  -- values of a board in ARGV: its id, then those of the text. Without a line the board leaves.
local LASTS_S = 600  -- for which staged boards of a publisher that died are kept

local function pending_key(name) return P .. ':s:' .. name .. ':pending' end

function has_pending(name) return redis.call('EXISTS', pending_key(name)) == 1 end

-- Return whether a board must be written: it is new, or has other terms, or has lost its place in a schedule.
local function differs(name, id, line, terms, full_line, full_before)
  local board = P .. ':s:' .. name .. ':board:' .. id
  local v = redis.call('HMGET', board, 'line', 'terms', 'full_line', 'full_due', 'held')
  if v[1] ~= line or v[2] ~= terms or (v[3] or '') ~= full_line then return true end
  if redis.call('SISMEMBER', P .. ':s:' .. name .. ':boards', id) == 0 then return true end
  if not v[5] and not redis.call('ZSCORE', P .. ':boards', name .. ' ' .. id) then return true end
  if full_line == '' then return false end
  return tonumber(v[4] or 0) > full_before or not redis.call('ZSCORE', P .. ':fulls', name .. ' ' .. id)
end

-- Stage the boards among some values, from a place on, and return their number. `full_pass` is the period of full
-- passes, ms.
function stage_boards(name, key, values, from, full_pass, now)
  local staged = {}
  for i = from, #values, ROW do
    local id, line = values[i], values[i + 1]
    if line == '' then
      staged[#staged + 1], staged[#staged + 2] = id, ''
    else
      local terms = values[i + 2] .. ' ' .. values[i + 3] .. ' ' .. values[i + 4]
      if differs(name, id, line, terms, values[i + 5], now + full_pass) then
        staged[#staged + 1], staged[#staged + 2] = id, table.concat(values, '\0', i + 1, i + ROW - 1)
      end
    end
  end
  if #staged == 0 then return 0 end
  for i = 1, #staged, CHUNK do redis.call('HSET', key, unpack(staged, i, math.min(i + CHUNK - 1, #staged))) end
  redis.call('EXPIRE', key, LASTS_S)
  return #staged / 2
end

-- Plan a board's full pass. It keeps its day, unless a shorter period makes it due sooner.
local function plan_full(name, id, board, line, first, admitted, now)
  if line == '' then
    redis.call('HDEL', board, 'full_line', 'full_next', 'full_due')
    redis.call('ZREM', P .. ':fulls', name .. ' ' .. id)
    return
  end
  local due = tonumber(redis.call('HGET', board, 'full_due') or now + first)
  due = math.min(due, now + redis.call('HGET', P .. ':s:' .. name, 'full_pass_ms'))
  redis.call('HSET', board, 'full_line', line, 'full_due', due)
  redis.call('HSETNX', board, 'full_scan', admitted)
  redis.call('ZADD', P .. ':fulls', 'LT', due, name .. ' ' .. id)
end

-- A board that is new to the ledger may be held, or have an interval, since before Redis was emptied.
local function restore_decisions(name, id, board, terms)
  local ms, of = string.match(decisions.value(name, 'interval ' .. id) or '', '^(%d+) (.*)$')
  if ms and of == terms then redis.call('HSET', board, 'fixed_ms', ms, 'terms', terms, 'interval_ms', ms) end
  local last = decisions.last(name, 'hold ' .. id)
  if not last or last[2] ~= 'held' then return end
  redis.call('HSET', board, 'held', 1)
  note_unwatched({key = P .. ':s:' .. name}, id, 'held', '-', last[1])
end

local function put_in(name, id, row, now)
  local line, start, least, most, full_line, full_first =
    string.match(row, '^(%Z*)%z(%Z*)%z(%Z*)%z(%Z*)%z(%Z*)%z(%Z*)$')
  local key = P .. ':s:' .. name
  local board, terms = key .. ':board:' .. id, start .. ' ' .. least .. ' ' .. most
  -- The number of a board's first scan. A board that leaves the file and comes back gets no number that the guard
  -- knows, since every scan admits at least one request.
  local admitted = redis.call('HGET', key, 'admitted') or 0
  if redis.call('HEXISTS', board, 'terms') == 0 then restore_decisions(name, id, board, terms) end
  local v = redis.call('HMGET', board, 'interval_ms', 'fixed_ms', 'terms', 'held')
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
  plan_full(name, id, board, full_line, tonumber(full_first), admitted, now)
  if redis.call('SADD', key .. ':boards', id) == 0 then return end
  redis.call('SADD', key .. ':unscanned', id)
  keep_new_boards(key, function(_, new) return new ~= id end)
end

-- Note that a board is not watched: its first page is parked or dead, shows no thread any more (empty), or an operator
-- holds it.
function note_unwatched(site, id, state, reason, now)
  local key = site.key .. ':unwatched'
  local since, before = string.match(redis.call('HGET', key, id) or '', '^(%d+) (%a+)')
  if before ~= state then since = string.format('%.0f', now) end
  redis.call('HSET', key, id, since .. ' ' .. state .. ' ' .. reason)
  redis.call('HSET', board_key(site, id), 'unwatched', state)
end

local function note_watched(site, id)
  redis.call('HDEL', site.key .. ':unwatched', id)
  redis.call('HDEL', board_key(site, id), 'unwatched')
end

-- Note what the first page of a board shows: threads, nothing, a page that may be either, or that the forum calls it
-- gone. The site counts boards that are gone. Return the rid of the page 1 that was given up before, if one was.
function note_first_page(site, id, shows, now)
  local board = board_key(site, id)
  local v = redis.call('HMGET', board, 'line', 'gone_at', 'unwatched', 'threads', 'dead', 'held')
  if not v[1] then return end
  if v[2] and shows ~= 'gone' then
    redis.call('HDEL', board, 'gone_at')
    redis.call('HINCRBY', site.key, 'gone_boards', -1)
  elseif shows == 'gone' and not v[2] then
    redis.call('HSET', board, 'gone_at', now)
    redis.call('HINCRBY', site.key, 'gone_boards', 1)
  end
  if shows == 'threads' and not v[4] then redis.call('HSET', board, 'threads', 1) end
  -- The scan of a held board was under way, or a person retried its page: nothing watches the board all the same.
  if v[6] then
    note_unwatched(site, id, 'held', '-', now)
    return v[5]
  end
  if shows == 'nothing' and v[4] then note_unwatched(site, id, 'empty', '-', now)
  elseif v[3] and not (v[3] == 'empty' and shows == 'a page') then note_watched(site, id) end
  return v[5]
end

-- Take a board out. The counts of its open list pages stay as long as there are any: the file may name the board again.
local function take_out(name, id)
  local key = P .. ':s:' .. name
  local board = key .. ':board:' .. id
  local v = redis.call('HMGET', board, 'open', 'full_open', 'walk_open', 'scan', 'full_scan', 'gone_at')
  if v[6] then redis.call('HINCRBY', key, 'gone_boards', -1) end
  redis.call('HDEL', key .. ':unwatched', id)
  redis.call('DEL', board)
  if (v[1] or 0) + (v[2] or 0) + (v[3] or 0) > 0 then
    redis.call('HSET', board, 'open', v[1] or 0, 'full_open', v[2] or 0, 'scan', v[4] or 0, 'full_scan', v[5] or 0)
    if tonumber(v[3] or 0) > 0 then redis.call('HSET', board, 'walk_open', v[3]) end
  end
  for _, set in ipairs({':boards', ':unscanned', ':scanning'}) do redis.call('SREM', key .. set, id) end
  redis.call('ZREM', key .. ':overdue', id)
  keep_new_boards(key, function(front_page) return front_page ~= id end)
  redis.call('HDEL', key .. ':front', ' ' .. id)
  -- It is no new board.
  if redis.call('HEXISTS', key .. ':front', id) == 1 then redis.call('HSET', key .. ':front', id, '') end
  redis.call('ZREM', P .. ':boards', name .. ' ' .. id)
  redis.call('ZREM', P .. ':fulls', name .. ' ' .. id)
end

-- Apply a board, if it is pending.
function apply_board(name, id, now)
  local row = redis.call('HGET', pending_key(name), id)
  if not row then return end
  if row == '' then take_out(name, id) else put_in(name, id, row, now) end
  redis.call('HDEL', pending_key(name), id)
end

-- Apply about as many boards of a site, then count the sums of the site's pulse. Return how much is left, 0 at the end.
function apply_boards(name, most, now)
  local key = pending_key(name)
  local phase, cursor, sums = string.match(redis.call('HGET', key, '') or '', '^(%a+) (%d+) ?(.*)$')
  if not phase then return 0 end
  local done = 0
  while phase == 'rows' and done < most do
    local page = redis.call('HSCAN', key, cursor, 'COUNT', most - done)
    cursor, done = page[1], done + math.max(1, #page[2] / 2)
    for i = 1, #page[2], 2 do
      if page[2][i] ~= '' then apply_board(name, page[2][i], now) end
    end
    -- The names that applying deletes do not hide others from the cursor.
    if cursor == '0' and redis.call('HLEN', key) == 1 then phase, sums = 'sums', '' end
  end
  while phase == 'sums' and done < most do
    cursor, sums = recount_pulse(load_site(name), cursor, sums, most)
    done = done + most / 4  -- a board is one command here, and twenty above
    if cursor == '0' then
      redis.call('DEL', key)
      redis.call('HSET', P .. ':s:' .. name, 'board_count', redis.call('SCARD', P .. ':s:' .. name .. ':boards'))
      return 0
    end
  end
  redis.call('HSET', key, '', phase .. ' ' .. cursor .. ' ' .. sums)
  return redis.call('HLEN', key)
end

-- What an operator decides of a board that the ledger has ----------------------------------------------------

-- Plan the next scan of a board. One that was due and held back has another due time then: it is overdue no more.
function plan_board(site, id, at)
  redis.call('ZADD', P .. ':boards', at, site.name .. ' ' .. id)
  redis.call('ZREM', site.key .. ':overdue', id)
end

-- Plan the next scan of a board that is in the schedule, a new interval after the last one.
local function move_scan(site, id, interval, now)
  local started = tonumber(redis.call('HGET', board_key(site, id), 'started_at') or now - interval)
  redis.call('ZADD', P .. ':boards', 'XX', math.max(now, started + interval), site.name .. ' ' .. id)
  redis.call('ZREM', site.key .. ':overdue', id)
end

-- Give a board an interval that holds until the site file gives it another.
function fix_board(site, id, interval, now)
  redis.call('HSET', board_key(site, id), 'min_ms', interval, 'max_ms', interval, 'interval_ms', interval,
    'fixed_ms', interval)
  move_scan(site, id, tonumber(interval), now)
end

-- Give a board the interval of the site file back.
function free_board(site, id, now)
  local key = board_key(site, id)
  local start, least, most = string.match(redis.call('HGET', key, 'terms') or '', '^(%S+) (%S+) (%S+)$')
  if redis.call('HDEL', key, 'fixed_ms') == 0 or not start then return end
  redis.call('HSET', key, 'min_ms', least, 'max_ms', most, 'interval_ms', start)
  move_scan(site, id, tonumber(start), now)
end

-- Take a board out of the schedule.
function hold_board(site, id, now)
  redis.call('HSET', board_key(site, id), 'held', 1)
  note_unwatched(site, id, 'held', '-', now)
  redis.call('ZREM', P .. ':boards', site.name .. ' ' .. id)
  redis.call('ZREM', site.key .. ':overdue', id)
end

-- Put a board that was held back into the schedule.
function release_board(site, id, now)
  if redis.call('HDEL', board_key(site, id), 'held') == 0 then return end
  note_watched(site, id)
  plan_board(site, id, now)
end
