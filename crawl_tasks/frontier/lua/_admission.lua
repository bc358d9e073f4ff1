-- Shared by every script, behind _guard.lua: how a line becomes an entry of the ledger, and a board's scan goes on.

local function board_key(site, id) return site.key .. ':board:' .. id end

-- A list page of a full pass is counted apart, so that it holds up no scan: the third value of its reach names the pass.
-- A board that the site file has no more is remembered until the last of its list pages has ended.
local function note_board(site, payload, change)
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

-- Know a priority of a stage, so that its ready list is looked at; `levels` holds them, highest first.
local function know_level(site, stage, level)
  if string.find(site.levels[stage], level, 1, true) then return end
  local digits = {level}
  for d in string.gmatch(site.levels[stage], '%d') do digits[#digits + 1] = d end
  table.sort(digits, function(a, b) return a > b end)
  site.levels[stage] = table.concat(digits)
  redis.call('HSET', site.key, 'levels:' .. stage, site.levels[stage])
end

-- Put an entry in front of its ready list, where the next release takes it.
local function return_ready(site, entry)
  local stage, level = string.match(entry, '^%d+ (%a+) (%d)')
  know_level(site, stage, level)
  redis.call(stage_letter(site.order, stage) == 'l' and 'RPUSH' or 'LPUSH', ready_key(site, stage, level), entry)
end

-- Put an entry behind the others of its ready list; settle() writes it.
local function append_ready(site, stage, level, entry)
  know_level(site, stage, level)
  local key = ready_key(site, stage, level)
  local batch = site.ready[key]
  if not batch then batch = {}; site.ready[key] = batch end
  batch[#batch + 1] = entry
end

-- Say whether a walk goes on from a page. A scan that went beyond a second page is walked once more by the next one: what
-- left a page while we read it moved others up, onto pages that were read before. It has `slack` pages without news.
local function walks_on(site, request)
  -- Echoes stand newest first: behind one that is known all are.
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

-- Pass one line through the guard; enter it into the ledger as ready when it is new. Ends with settle().
-- An echo asks for nothing where nobody named its thread, which is read whole when its own board lists it, and behind
-- page 1 of a first scan, where everything is older than the scan.
local function admit_line(site, line, now, unguarded)
  local word, flag, stage, level, request = string.match(line, '^(%S+) (%p) (%a+) (%d) (.*)$')
  if flag == '?' and not walks_on(site, request) then return false end
  if flag == '~' and stage == 'list' and not unguarded then  -- produce.lua admits it when it is its turn
    local key = board_key(site, cjson.decode(string.match(request, '^%S+ (.*)$'))[1])
    if redis.call('HEXISTS', key, 'full_line') == 1 then redis.call('HSET', key, 'full_next', line) end
    return false
  end
  local is_new, was_named = true, true
  if not unguarded then
    is_new, was_named = guard_admits(site, stage, word, now, flag)
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

-- Write what admission gathered: ready lists, guard sizes, counters.
local function settle(site)
  for key, batch in pairs(site.ready) do
    for i = 1, #batch, CHUNK do redis.call('RPUSH', key, unpack(batch, i, math.min(i + CHUNK - 1, #batch))) end
  end
  site.ready = {}
  for _, t in pairs(site.guards) do
    if t.dirty then redis.call('HSET', site.key .. ':seen', t.name .. ':n', t.n, t.name .. ':m', t.m); t.dirty = nil end
  end
  if site.fresh > 0 then redis.call('HSET', site.key, 'admitted', site.rid) end
  if site.known > 0 then redis.call('HINCRBY', site.key, 'known', site.known) end
end

local function backlog(site)
  local n = redis.call('ZCARD', site.key .. ':leased') + redis.call('ZCARD', site.key .. ':delayed')
  for _, stage in ipairs(STAGES) do
    n = n + redis.call('ZCARD', site.key .. ':released:' .. stage)
    for _, key in ipairs(ready_keys(site, stage)) do n = n + redis.call('LLEN', key) end
  end
  return n
end
