-- Audit some entries of one place of a site's ledger: each must be readable, and in no other place.
-- INCLUDES: lib/site lib/admission
-- KEYS 1: key prefix
-- ARGV 1: site
-- ARGV 2: place: open, leased, released:STAGE, ready:STAGE:LEVEL, delayed, parked or dead
-- ARGV 3: cursor, 0 to begin
-- ARGV 4: 1 to mend the flaws that can be mended here
-- RETURNS 0: {0, next cursor (0 at the end), {flaw, rid, 1 when mended, ...}, {entry, ...}}
-- RETURNS -1: the site is not published

local AT_ONCE = 150  -- entries

local site = load_site(ARGV[1])
if not site then return {-1} end
local place, mend, now = ARGV[2], ARGV[4] == '1', now_ms()
local key, open = site.key .. ':' .. place, site.key .. ':open'
local flaws, entries, following = {}, {}, ARGV[3]

-- Note a flaw. `repair` mends a flaw that can be mended.
local function note(flaw, rid, repair)
  if mend and repair then repair() end
  for _, value in ipairs({flaw, rid, mend and repair and 1 or 0}) do flaws[#flaws + 1] = value end
end

-- Return the rid and the stage of an entry, nil for another text.
local function read(rid, entry)
  local number, stage, payload = string.match(entry, WIRE.entry.rid_stage_payload)
  if number and string.sub(payload, 1, 1) == '[' and STAGE_AT[stage] and (not rid or number == rid) then
    entries[#entries + 1] = entry
    if tonumber(number) > site.rid then  -- the next request would get a number that this one has
      note('uncounted', number, function()
        site.rid = tonumber(number)
        redis.call('HSET', site.key, 'admitted', number)
      end)
    end
    return number, stage
  end
  note('unreadable', rid or string.sub(entry, 1, 200))
end

local function unhold(rid)
  redis.call('HDEL', open, rid)
  redis.call('ZREM', site.key .. ':leased', rid)
  for _, stage in ipairs(STAGES) do redis.call('ZREM', site.key .. ':released:' .. stage, rid) end
end

local function check_open(rid, held)
  local token, work = string.match(held, WIRE.held.token_work)
  local _, stage = read(rid, rid .. ' ' .. (work or ''))
  if not stage then return end
  local holder = token == '0' and ':released:' .. stage or ':leased'
  for _, failed_hash in ipairs({':parked', ':dead'}) do
    if redis.call('HEXISTS', site.key .. failed_hash, rid) == 1 then
      note('twice', rid, function() redis.call('HDEL', site.key .. failed_hash, rid) end)
    end
  end
  if redis.call('ZSCORE', site.key .. holder, rid) then return end
  note('unheld', rid, function()
    unhold(rid)
    return_ready(site, rid .. ' ' .. work)
    schedule_look(site, now)
  end)
end

-- A leased request has a token, a released one has none.
local function check_holder(rid)
  local held = redis.call('HGET', open, rid)
  local is_leased = held and string.sub(held, 1, 2) ~= '0 '
  if held and is_leased == (place == 'leased') then return end
  note('entryless', rid, function() redis.call('ZREM', key, rid) end)
end

local function check_waiting(entry, remove)
  local rid, stage = read(nil, entry)
  if not rid then return end
  if place ~= 'delayed' and string.match(place, '^ready:(%a+)') ~= stage then note('unreadable', rid) end
  for _, other in ipairs({':open', ':parked', ':dead'}) do
    if redis.call('HEXISTS', site.key .. other, rid) == 1 then return note('twice', rid, remove) end
  end
end

local function check_failed(rid, text)
  local entry = string.match(text, '^%d+ [^\n]*\n(.*)$')
  if not read(rid, entry or '') or place == 'dead' then return end
  if redis.call('HEXISTS', site.key .. ':dead', rid) == 1 then
    note('twice', rid, function() redis.call('HDEL', site.key .. ':dead', rid) end)
  end
end

if string.sub(place, 1, 6) == 'ready:' then
  local first, removed = tonumber(following), 0
  local page = redis.call('LRANGE', key, first, first + AT_ONCE - 1)
  for _, entry in ipairs(page) do
    check_waiting(entry, function() removed = removed + redis.call('LREM', key, 1, entry) end)
  end
  following = #page < AT_ONCE and '0' or string.format('%.0f', first + #page - removed)
else
  local is_zset = place == 'delayed' or place == 'leased' or string.sub(place, 1, 9) == 'released:'
  local page = redis.call(is_zset and 'ZSCAN' or 'HSCAN', key, following, 'COUNT', AT_ONCE)
  following = page[1]
  for i = 1, #page[2], 2 do
    local name, value = page[2][i], page[2][i + 1]
    if place == 'open' then check_open(name, value)
    elseif place == 'delayed' then check_waiting(name, function() redis.call('ZREM', key, name) end)
    elseif is_zset then check_holder(name)
    else check_failed(name, value) end
  end
end
if mend then note_change(site) end
return {0, following, flaws, entries}
