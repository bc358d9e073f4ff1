-- Audit the sums of a site's ledger, at one instant: its balance, its place in the schedules, the scans of some boards.
-- INCLUDES: lib/site lib/admission
-- KEYS 1: key prefix
-- ARGV 1: site
-- ARGV 2: cursor, 0 to begin
-- ARGV 3: most requests to look through for boards' scans. With more the scans are not counted
-- ARGV 4: 1 to mend the flaws that can be mended here
-- RETURNS 0: {0, next cursor (0 at the end), {flaw, where, 1 when mended, ...}}
-- RETURNS -1: the site is not published

local site = load_site(ARGV[1])
if not site then return {-1} end
local AT_ONCE = 100  -- boards

local mend, now = ARGV[4] == '1', now_ms()
local flaws, failed_hashes = {}, {':parked', ':dead'}

local function note(flaw, where, repair)
  if mend and repair then repair() end
  for _, value in ipairs({flaw, where, mend and repair and 1 or 0}) do flaws[#flaws + 1] = value end
end

local function check_levels()
  for _, stage in ipairs(STAGES) do
    for level = 0, 9 do
      local is_known = string.find(site.levels[stage], level, 1, true)
      if not is_known and redis.call('EXISTS', ready_key(site, stage, level)) == 1 then
        note('unread_list', stage .. ' ' .. level, function() register_level(site, stage, tostring(level)) end)
      end
    end
  end
end

local function check_balance(open)
  local total = open
  for _, failed_hash in ipairs(failed_hashes) do total = total + redis.call('HLEN', site.key .. failed_hash) end
  for _, stage in ipairs(STAGES) do total = total + (redis.call('HGET', site.key, 'done:' .. stage) or 0) end
  if total < site.rid then note('lost', string.format('%.0f', site.rid - total)) end
  if total > site.rid then
    note('uncounted', string.format('%.0f', total - site.rid),
      function() redis.call('HSET', site.key, 'admitted', total) end)
  end
end

local counts = {}  -- of each board: open list pages of scans, of walks, and of full passes

local function count(text)
  local entry = string.match(text, '\n(.*)$') or text  -- of a parked request, behind the reason
  local stage, level, payload = string.match(entry, WIRE.entry.stage_priority_payload)
  if stage ~= 'list' or string.sub(payload, 1, 1) ~= '[' then return end
  local said = cjson.decode(payload)
  local field = board_field(said, level)
  counts[said[1]] = counts[said[1]] or {open = 0, walk_open = 0, full_open = 0}
  counts[said[1]][field] = counts[said[1]][field] + 1
end

local function count_hash(key)
  local cursor = '0'
  repeat
    local page = redis.call('HSCAN', key, cursor, 'COUNT', CHUNK)
    cursor = page[1]
    for i = 2, #page[2], 2 do count(page[2][i]) end
  until cursor == '0'
end

-- Count the list pages of boards where they can be. Return whether these were few enough.
local function count_scans()
  local left = ARGV[3] - redis.call('ZCARD', site.key .. ':delayed')
  for _, name in ipairs({':open', ':parked'}) do left = left - redis.call('HLEN', site.key .. name) end
  for _, key in ipairs(ready_keys(site, 'list')) do left = left - redis.call('LLEN', key) end
  if left < 0 then return false end
  for _, key in ipairs(ready_keys(site, 'list')) do
    for _, entry in ipairs(redis.call('LRANGE', key, 0, ARGV[3])) do count(entry) end
  end
  for _, entry in ipairs(redis.call('ZRANGE', site.key .. ':delayed', 0, ARGV[3])) do count(entry) end
  count_hash(site.key .. ':open')
  count_hash(site.key .. ':parked')
  return true
end

local function check_scans(id, key, v)
  local counted = counts[id] or {open = 0, walk_open = 0, full_open = 0}
  local is_scanning, scans = redis.call('SISMEMBER', site.key .. ':scanning', id) == 1, tonumber(v[2] or 0)
  if scans ~= counted.open or is_scanning ~= (counted.open > 0) then
    note('scan', id, function()
      redis.call('HSET', key, 'open', counted.open)
      redis.call(counted.open > 0 and 'SADD' or 'SREM', site.key .. ':scanning', id)
    end)
  end
  for field, seen in pairs({full_open = v[3], walk_open = v[7]}) do
    if tonumber(seen or 0) ~= counted[field] then
      note('scan', id, function() redis.call('HSET', key, field, counted[field]) end)
    end
  end
end

local function check_board(id, are_counted)
  local key, name = board_key(site, id), site.name .. ' ' .. id
  local v = redis.call('HMGET', key, 'line', 'open', 'full_open', 'held', 'full_line', 'interval_ms', 'walk_open')
  if not v[1] or not v[6] then
    redis.call('HDEL', site.key, 'signature')  -- the next `sites check` compares all boards with the file
    return note('blank_board', id)
  end
  if not v[4] and not redis.call('ZSCORE', P .. ':boards', name) then
    note('unscheduled', id, function() redis.call('ZADD', P .. ':boards', now, name) end)
  end
  if v[5] and not redis.call('ZSCORE', P .. ':fulls', name) then
    note('unscheduled', id, function() redis.call('ZADD', P .. ':fulls', now, name) end)
  end
  if are_counted then check_scans(id, key, v) end
end

if ARGV[2] == '0' then
  check_levels()
  local open = backlog(site)
  check_balance(open)
  if open > 0 and not redis.call('ZSCORE', P .. ':due', site.name) then
    note('unattended', site.name, function() schedule_look(site, now) end)
  end
end
local are_counted = count_scans()
local page = redis.call('SSCAN', site.key .. ':boards', ARGV[2], 'COUNT', AT_ONCE)
for _, id in ipairs(page[2]) do check_board(id, are_counted) end
if mend then note_change(site) end
return {0, page[1], flaws}
