-- Admission. A line becomes an entry of the ledger, and a board's scan goes on.
-- INCLUDES: lib/site guard/guard
-- EXPORTS: board_key is_by_hand is_walk board_field note_board register_level return_ready return_tried append_ready
-- EXPORTS: walk_whole admit_line flush_admission backlog

function board_key(site, id) return site.key .. ':board:' .. id end

-- Return whether a person asked for a walk over a board: it is named like seed1700000000000.
function is_by_hand(said) return string.find(said[3], '^seed%d+$') ~= nil end

-- Return whether a list page belongs to a walk, which shows a board's history. A scan shows what is new, and keeps its
-- priority behind page 1. `said` is the page's payload, decoded.
function is_walk(said, level) return is_by_hand(said) or (said[2] > 1 and tonumber(level) <= BACKFILL) end

-- Return the field that counts a board's open list pages of a kind: scans, walks and full passes each have one, so that
-- no walk or pass holds up a scan. The third value of its reach names a pass.
function board_field(said, level)
  if said[4] and (said[4][3] or '') ~= '' then return 'full_open' end
  return is_walk(said, level) and 'walk_open' or 'open'
end

-- Count an open list page of a board up or down. Return the board's key and its open pages of scans, nil for another
-- page. A board that left the site file is remembered until its last list page ends.
function note_board(site, payload, level, change)
  local said = cjson.decode(payload)
  local id = said[1]
  local key = board_key(site, id)
  local v = redis.call('HMGET', key, 'line', 'open', 'full_open', 'walk_open')
  if not v[2] then return end
  local field = board_field(said, level)
  local open = redis.call('HINCRBY', key, field, change)
  if not v[1] then
    if (v[2] + 0) + (v[3] or 0) + (v[4] or 0) + change <= 0 then redis.call('DEL', key) end
    return
  end
  if field == 'walk_open' and open <= 0 then redis.call('HDEL', key, 'walk_open', 'slid', 'first') end
  if field ~= 'open' then return end
  if change > 0 and open == 1 then redis.call('SADD', site.key .. ':scanning', id) end
  if open <= 0 then redis.call('SREM', site.key .. ':scanning', id) end
  return key, open
end

-- Register a priority of a stage, so that releases look at its ready list. `levels` holds all, highest first.
function register_level(site, stage, level)
  if string.find(site.levels[stage], level, 1, true) then return end
  local digits = {level}
  for d in string.gmatch(site.levels[stage], '%d') do digits[#digits + 1] = d end
  table.sort(digits, function(a, b) return a > b end)
  site.levels[stage] = table.concat(digits)
  redis.call('HSET', site.key, 'levels:' .. stage, site.levels[stage])
end

-- Put an entry into its ready list: in front, where the next release takes it, or behind all others.
local function put_ready(site, entry, is_behind)
  local stage, level = string.match(entry, WIRE.entry.stage_priority)
  register_level(site, stage, level)
  local is_lifo = site.terms.order[stage] == 'lifo'
  redis.call(is_lifo ~= is_behind and 'RPUSH' or 'LPUSH', ready_key(site, stage, level), entry)
end

-- Return a request that was not tried, to the place where it stood.
function return_ready(site, entry) put_ready(site, entry, false) end

-- Return a request that was tried: a page that failed must not stand before those that never had their turn.
function return_tried(site, entry) put_ready(site, entry, true) end

-- Put an entry behind the others of its ready list. flush_admission() writes it.
function append_ready(site, stage, level, entry)
  local page = site.page
  local batch = page.batch  -- the batch of the line before: a page's lines are mostly of one stage
  if not batch or batch.stage ~= stage or batch.level ~= level then
    register_level(site, stage, level)
    local key = ready_key(site, stage, level)
    batch = page.ready[key] or {stage = stage, level = level}
    page.ready[key], page.batch = batch, batch
  end
  batch[#batch + 1] = entry
end

local MOST_KNOWN = 200  -- pages in a row. A forum may answer every number with one of its pages

-- Return whether a walk goes on from a page. It passes `slack` pages without news, and as many known rows as the scans
-- found news meanwhile (`slid`): each thread that they found has moved one row onto a page that the walk had before it.
-- The first walk over a board goes to its end, as its threads may be known from a page of all news or from another
-- board, and so does one that a person asked for. `first` counts such pages.
local function goes_on(site, key, is_asked_for)
  local page = site.page
  local slack, slid, first = unpack(redis.call('HMGET', key, 'slack', 'slid', 'first'))
  first = tonumber(first or ((page.is_unscanned or is_asked_for) and 0))
  if first then redis.call('HSET', key, 'first', page.news > 0 and 0 or first + 1) end
  if page.news > 0 then
    redis.call('HINCRBY', key, 'walk', 1)
  elseif first then
    return first < MOST_KNOWN
  elseif tonumber(slack or 0) > 0 then
    redis.call('HINCRBY', key, 'slack', -1)
  elseif tonumber(slid or 0) > 0 then
    redis.call('HINCRBY', key, 'slid', -math.max(1, page.known))
  else
    return false
  end
  return true
end

local WHOLE = 1000000  -- pages without news: more than any board has

-- Let the next scan of a board be followed by a walk to its end.
function walk_whole(site, id)
  if redis.call('EXISTS', board_key(site, id)) == 1 then redis.call('HSET', board_key(site, id), 'walk', WHOLE) end
end

-- Return whether a walk begins where a scan ends. It goes on behind a page with news. It also goes over as many pages
-- as the last scan or walk that went beyond page 2: a row that left the list meanwhile moved others up, onto pages that
-- were already read. A walk that ended on page 2 may have met rows that news had moved there. Where history had its
-- half of `daily_new` today, it waits for another day.
local function begin_walk(site, id, key, may_have_more)
  local page = site.page
  local pages, open = unpack(redis.call('HMGET', key, 'walk', 'walk_open'))
  pages = tonumber(pages or 0)
  local is_due = pages > 1 or (page.news > 0 and (may_have_more or pages == 1))
  if not is_due or tonumber(open or 0) > 0 then return false end
  if page.walks_later then walk_whole(site, id); return false end
  redis.call('HSET', key, 'walk', may_have_more and page.news > 0 and 1 or 0, 'slack', math.max(0, pages - 1))
  return true
end

-- Return whether a list's next page is asked for, and whether a walk begins with it. A scan goes on as far as all rows
-- are new. Behind a known row stands what was read before, or history. On a list in the order of the last replies that
-- is certain where the rows are older than the newest one of the scan before.
local function walks_on(site, said, level)
  local page = site.page
  local key = board_key(site, said[1])
  local line, is_open = unpack(redis.call('HMGET', key, 'line', 'open'))
  if is_open and not line and not is_by_hand(said) then return false end  -- the board left the site file
  -- Echoes stand newest first: behind a known one all are known.
  if page.echoes.new + page.echoes.known > 0 then return page.echoes.known == 0 end
  if not is_open then return page.news > 0 end
  if is_walk(said, level) then return goes_on(site, key, is_by_hand(said)) end
  local may_have_more = not (page.row_at > 0 and page.row_at < page.known_until)
  if page.news > 0 and page.known == 0 and may_have_more then
    redis.call('HINCRBY', key, 'walked', 1)
    return true
  end
  if page.goes_by_time and page.row_at > page.last_seen then return true end
  local begins = begin_walk(site, said[1], key, may_have_more)
  return begins, begins
end

-- Return whether a scan leaves a page to the walk over the same board: one of many pages that page 1 of the list names
-- at once.
local function is_left_to_walk(site, said, level)
  local parent = site.page.listed
  if not parent or parent[2] ~= 1 or said[2] <= 2 or board_field(said, level) ~= 'open' then return false end
  return tonumber(redis.call('HGET', board_key(site, said[1]), 'walk_open') or 0) > 0
end

-- Take one more list request off the budget of a site with the priced policy, which scan.lua describes.
local function spend_scan(site)
  local requests = tonumber(string.match(site.terms.freshness, '^%S+'))
  if requests then redis.call('HINCRBY', site.key, 'scan_at', math.floor(3600000 / requests)) end
end

-- Pass one line through the guard, and enter a new one into the ledger as ready. Return the line as it was admitted, or
-- false. flush_admission() must follow the last.
-- An echo makes no request in two places: where nobody named its thread, which is read whole when its own board lists
-- it, and behind page 1 of a first scan, where everything is older than the scan.
function admit_line(site, line, now, unguarded)
  local page = site.page
  local behind_word = string.find(line, ' ', 1, true) + 1
  local flag, stage, level, request = string.match(line, WIRE.wish.flag_stage_priority_request, behind_word)
  local said = stage == 'list' and cjson.decode(string.match(request, WIRE.request.payload))
  local is_backfill, admitted = false, line
  if flag == '?' then
    local goes, begins = walks_on(site, said, level)
    if not goes then return false end
    is_backfill = begins
  end
  if said and is_left_to_walk(site, said, level) then return false end
  if is_backfill and tonumber(level) > BACKFILL then
    level = tostring(math.floor(level / 4))  -- as ParseContext.rank() does, in the order that the stages had
    admitted = WIRE.write_line(string.match(line, WIRE.line.word), flag, stage, level, request)
  end
  if flag == '?' and tonumber(level) > BACKFILL then spend_scan(site) end
  -- produce.lua admits one list page of a full pass at a time.
  if flag == '~' and stage == 'list' and not unguarded then
    local key = board_key(site, said[1])
    if redis.call('HEXISTS', key, 'full_line') == 1 then redis.call('HSET', key, 'full_next', line) end
    return false
  end
  local is_new = true
  if not unguarded then
    local was_named, is_unseen
    is_new, was_named, is_unseen = guard_admits(site, stage, line, now, flag)
    if is_unseen then page.unseen = page.unseen + 1 end
    if not is_new and flag ~= '+' then
      page.known = page.known + 1
      if flag == '=' then page.echoes.known = page.echoes.known + 1 end
      return false
    end
    if flag == '=' then
      page.echoes.new = page.echoes.new + 1
      if page.is_first_walk or not was_named then return false end
    end
  end
  site.rid, page.fresh = site.rid + 1, page.fresh + 1
  local entry = WIRE.write_entry(site.rid, stage, level, 0, request)
  if (page.wait or 0) > 0 then
    redis.call('ZADD', site.key .. ':delayed', now + page.wait, entry)
  else
    append_ready(site, stage, level, entry)
  end
  if said then
    note_board(site, string.match(request, WIRE.request.payload), level, 1)
    if said[2] > 1 then page.further = page.further + 1 end
  elseif is_new ~= 'again' then page.news = page.news + 1 end
  return admitted
end

-- Write the batches of an admission: ready lists, guard sizes, counters. One command a batch is cheaper than one a
-- line.
function flush_admission(site)
  local page = site.page
  for key, batch in pairs(page.ready) do
    for i = 1, #batch, CHUNK do redis.call('RPUSH', key, unpack(batch, i, math.min(i + CHUNK - 1, #batch))) end
  end
  page.ready, page.batch = {}, nil
  for _, t in pairs(page.guards) do
    if t.dirty then redis.call('HSET', site.key .. ':seen', t.name .. ':n', t.n, t.name .. ':m', t.m); t.dirty = nil end
  end
  if page.fresh > 0 then
    local found = page.found_today and {'found', page.found_today} or {}
    redis.call('HSET', site.key, 'admitted', site.rid, unpack(found))
  end
  if page.known > 0 then redis.call('HINCRBY', site.key, 'known', page.known) end
end

-- Count a site's open requests: ready, released, leased and delayed.
function backlog(site)
  local n = redis.call('ZCARD', site.key .. ':leased') + redis.call('ZCARD', site.key .. ':delayed')
  for _, stage in ipairs(STAGES) do
    n = n + redis.call('ZCARD', site.key .. ':released:' .. stage)
    for _, key in ipairs(ready_keys(site, stage)) do n = n + redis.call('LLEN', key) end
  end
  return n
end
