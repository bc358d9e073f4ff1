-- Shared by every script, behind guard.lua: admission. A line becomes an entry of the ledger, and a board's scan goes on.
-- EXPORTS: board_key note_board register_level return_ready return_tried append_ready admit_line flush_admission
-- EXPORTS: backlog

function board_key(site, id) return site.key .. ':board:' .. id end

-- Count an open list page of a board up or down. Pages of a full pass are counted apart, so that they hold up no scan: the
-- third value of their reach names the pass. A board that left the site file is remembered until its last list page ends.
function note_board(site, payload, change)
  local said = cjson.decode(payload)
  local id = said[1]
  local key = board_key(site, id)
  local v = redis.call('HMGET', key, 'line', 'open', 'full_open')
  if not v[2] then return end
  local is_full = said[4] and (said[4][3] or '') ~= ''
  local open = redis.call('HINCRBY', key, is_full and 'full_open' or 'open', change)
  if not v[1] then
    if open <= 0 and tonumber(v[is_full and 2 or 3] or 0) <= 0 then redis.call('DEL', key) end
    return
  end
  if is_full then return end
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
  local stage, level = string.match(entry, '^%d+ (%a+) (%d)')
  register_level(site, stage, level)
  local is_lifo = stage_letter(site.order, stage) == 'l'
  redis.call(is_lifo ~= is_behind and 'RPUSH' or 'LPUSH', ready_key(site, stage, level), entry)
end

-- Return a request that was not tried, to the place where it stood.
function return_ready(site, entry) put_ready(site, entry, false) end

-- Return a request that was tried: a page that failed must not stand before those that never had their turn.
function return_tried(site, entry) put_ready(site, entry, true) end

-- Put an entry behind the others of its ready list. flush_admission() writes it.
function append_ready(site, stage, level, entry)
  local batch = site.batch  -- the batch of the line before: a page's lines are mostly of one stage
  if not batch or batch.stage ~= stage or batch.level ~= level then
    register_level(site, stage, level)
    local key = ready_key(site, stage, level)
    batch = site.ready[key] or {stage = stage, level = level}
    site.ready[key], site.batch = batch, batch
  end
  batch[#batch + 1] = entry
end

-- Return whether the walk over a board's list goes on from a page. When a scan went beyond its second page, the next scan
-- walks as far once more: a row that left the list during the scan moved others up, onto pages that were already read.
-- That scan may go on over `slack` pages without news.
local function walks_on(site, request)
  -- Echoes stand newest first: behind a known one all are known.
  if site.echoes.new + site.echoes.known > 0 then return site.echoes.known == 0 end
  local key = board_key(site, cjson.decode(string.match(request, '^%S+ (.*)$'))[1])
  if redis.call('EXISTS', key) == 0 then return site.news > 0 end
  if site.news > 0 then
    redis.call('HINCRBY', key, 'walked', 1)
    return true
  end
  if tonumber(redis.call('HGET', key, 'slack') or 0) <= 0 then return false end
  redis.call('HINCRBY', key, 'slack', -1)
  return true
end

-- Take one more list request off the budget of a site with the priced policy, which scan.lua describes.
local function spend_scan(site)
  local requests = tonumber(string.match(site.freshness, '^%S+'))
  if requests then redis.call('HINCRBY', site.key, 'scan_at', math.floor(3600000 / requests)) end
end

-- Pass one line through the guard, and enter a new one into the ledger as ready. flush_admission() must follow the last.
-- An echo makes no request in two places: where nobody named its thread, which is read whole when its own board lists it,
-- and behind page 1 of a first scan, where everything is older than the scan.
function admit_line(site, line, now, unguarded)
  local flag, stage, level, request = string.match(line, '^(%p) (%a+) (%d) (.*)$', string.find(line, ' ', 1, true) + 1)
  if flag == '?' then
    if not walks_on(site, request) then return false end
    spend_scan(site)
  end
  if flag == '~' and stage == 'list' and not unguarded then  -- produce.lua admits one list page of a full pass at a time
    local key = board_key(site, cjson.decode(string.match(request, '^%S+ (.*)$'))[1])
    if redis.call('HEXISTS', key, 'full_line') == 1 then redis.call('HSET', key, 'full_next', line) end
    return false
  end
  local is_new, was_named = true, true
  if not unguarded then
    is_new, was_named = guard_admits(site, stage, line, now, flag)
    if not is_new and flag ~= '+' then
      site.known = site.known + 1
      if flag == '=' then site.echoes.known = site.echoes.known + 1 end
      return false
    end
    if flag == '=' then
      site.echoes.new = site.echoes.new + 1
      if site.is_first_walk or not was_named then return false end
    end
  end
  site.rid, site.fresh = site.rid + 1, site.fresh + 1
  local entry = site.rid .. ' ' .. stage .. ' ' .. level .. ' 0 ' .. request
  if (site.wait or 0) > 0 then
    redis.call('ZADD', site.key .. ':delayed', now + site.wait, entry)
  else
    append_ready(site, stage, level, entry)
  end
  if stage == 'list' then note_board(site, string.match(request, '^%S+ (.*)$'), 1)
  elseif is_new ~= 'again' then site.news = site.news + 1 end
  return true
end

-- Write the batches of an admission: ready lists, guard sizes, counters. One command a batch is cheaper than one a line.
function flush_admission(site)
  for key, batch in pairs(site.ready) do
    for i = 1, #batch, CHUNK do redis.call('RPUSH', key, unpack(batch, i, math.min(i + CHUNK - 1, #batch))) end
  end
  site.ready, site.batch = {}, nil
  for _, t in pairs(site.guards) do
    if t.dirty then redis.call('HSET', site.key .. ':seen', t.name .. ':n', t.n, t.name .. ':m', t.m); t.dirty = nil end
  end
  if site.fresh > 0 then redis.call('HSET', site.key, 'admitted', site.rid) end
  if site.known > 0 then redis.call('HINCRBY', site.key, 'known', site.known) end
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
