-- The tables of the guard, its storage. Each is a Redis set of numbers: an address with the revision of the last
-- request for it.
--
-- A table holds addresses by linear hashing (Litwin 1980): when the table outgrows its buckets, one bucket is split, so
-- that each stays small and no rehash is ever long. A bucket is a set of integers, which Redis packs (intset): eight
-- bytes each. A member is the address' number, and seven digits of a mark: SISMEMBER tells that a row is unchanged, and
-- SSCAN with the address' pattern finds its last mark. A mark is revision * 16 + source: 19 bits of the revision's
-- hash, 4 of the board whose list named the page. In the place of a revision that is none stand 16 more bits of the
-- address' hash, behind NONE: 40 bits would be too few to take two addresses for one, where no revision tells them
-- apart.
--
-- A rolling guard has two tables, windows: only the later one gets new addresses, and the earlier one is read.
-- INCLUDES: lib/site
-- EXPORTS: begin_flush flush_some
-- SHARES: revision_of guard_table look_up write_mark tables_by_length rolling_tables

local BUCKET = 96  -- mean members of a bucket: each search by pattern looks at a whole one
local ADDRESSES, SOURCES, NONE = WIRE.mark.addresses, WIRE.mark.sources, WIRE.mark.none

function revision_of(mark) return (mark - mark % SOURCES) / SOURCES end

function guard_table(site, name)
  local t = site.page.guards[name]
  if t then return t end
  local v = redis.call('HMGET', site.key .. ':seen', name .. ':n', name .. ':m')
  t = {key = site.key .. ':seen:' .. name .. ':', n = tonumber(v[1] or 0), m = tonumber(v[2] or 1), name = name}
  t.round = 1
  while t.round * 2 <= t.m do t.round = t.round * 2 end
  site.page.guards[name] = t
  return t
end

local function bucket_of(t, address)
  local b = address % (t.round * 2)
  return b < t.m and b or b - t.round
end

-- The digits by which the members of an address begin. Half of the numbers are negative, as 64 bits have a sign; none
-- is 0.
local function digits_of(address)
  return string.format('%d', address < ADDRESSES / 2 and -1 - address or address - ADDRESSES / 2 + 1)
end

local function address_of(member)
  local number = tonumber(string.sub(member, 1, -8))
  return number < 0 and -1 - number or number + ADDRESSES / 2 - 1
end

local function member_of(digits, mark, rest)
  if mark < SOURCES then mark = (NONE + rest) * SOURCES + mark end
  return string.format('%s%07d', digits, mark)
end

local function add_members(t, key, members)
  redis.call('SADD', key, unpack(members))
  if t.expires then redis.call('PEXPIREAT', key, t.expires) end
end

-- Drop buckets of the window that nobody reads any more: as many for each new bucket as make it vanish while this
-- window fills.
local function drop_retired(t)
  local share = math.ceil(t.retired_m * BUCKET / t.length)
  for b = (t.m - 1) * share, math.min(t.m * share, t.retired_m) - 1 do redis.call('UNLINK', t.retired .. b) end
end

local function split_bucket(t)
  local from, to = t.m - t.round, t.m
  local moved = {}
  for _, member in ipairs(redis.call('SMEMBERS', t.key .. from)) do  -- bounded: few more than 2 * BUCKET
    if address_of(member) % (t.round * 2) ~= from then moved[#moved + 1] = member end
  end
  if #moved > 0 then
    redis.call('SREM', t.key .. from, unpack(moved))
    add_members(t, t.key .. to, moved)
  end
  t.m = t.m + 1
  if t.m == t.round * 2 then t.round = t.m end
  if t.retired then drop_retired(t) end
end

-- Return the last mark of an address, and the member that holds it; nil for an unknown one. Another address that shares
-- its 40 bits is told apart where either has no revision.
local function find_mark(key, digits, rest)
  for _, member in ipairs(redis.call('SSCAN', key, 0, 'MATCH', digits .. '???????', 'COUNT', 1000)[2]) do
    local mark = tonumber(string.sub(member, -7))
    if mark < NONE * SOURCES then return mark, member end
    if revision_of(mark) == NONE + rest then return mark % SOURCES, member end
  end
end

-- Look an address up in a table. Return its mark, nil for an unknown one, and its place: digits, 16 bits, key, member.
-- `older` is a table that is only read. The five are no Lua table, as this runs once for every row of every list page.
function look_up(t, older, address, rest, mark)
  local digits, key = digits_of(address), t.key .. bucket_of(t, address)
  if mark then
    local member = member_of(digits, mark, rest)
    if redis.call('SISMEMBER', key, member) == 1 then return mark, digits, rest, key, member end
  end
  local known, member = find_mark(key, digits, rest)
  if known then return known, digits, rest, key, member end
  return older and older.n > 0 and look_up(older, nil, address, rest) or nil, digits, rest, key
end

-- Write the mark of a place that was looked up. Between the two nothing else may be written to the table.
function write_mark(t, mark, digits, rest, key, member)
  if member then redis.call('SREM', key, member) end
  add_members(t, key, {member_of(digits, mark, rest)})
  if member then return end
  t.n, t.dirty = t.n + 1, true
  if t.n > t.m * BUCKET then split_bucket(t) end
end

-- Forget the sizes of a rolling table's windows but the last two. The buckets expire by themselves.
local function guard_prune(site, name, window)
  for _, field in ipairs(redis.call('HKEYS', site.key .. ':seen')) do  -- bounded: two windows of each table
    local of, number = string.match(field, '^(.*)@(%d+):%a$')
    number = tonumber(number)
    if of == name and number ~= window and number ~= window - 1 then redis.call('HDEL', site.key .. ':seen', field) end
  end
end

-- Return the number of a rolling guard's window by length. The next one begins when the present one is full. Of the
-- window that is forgotten then, the number of buckets stays until the next one ends, as they are dropped little by
-- little.
local function window_by_length(site, name)
  local key = site.key .. ':seen'
  local window = tonumber(redis.call('HGET', key, name .. ':w') or 1)
  if tonumber(redis.call('HGET', key, name .. '@' .. window .. ':n') or 0) < site.terms.guard_length then
    return window
  end
  redis.call('HSET', key, name .. ':w', window + 1)
  redis.call('HDEL', key, name .. '@' .. (window - 1) .. ':n', name .. '@' .. (window - 2) .. ':m')
  return window + 1
end

-- Return the tables of two windows of as many addresses as the guard is long.
function tables_by_length(site, name)
  local window = window_by_length(site, name)
  local current, retired = guard_table(site, name .. '@' .. window), name .. '@' .. (window - 2)
  local buckets = redis.call('HGET', site.key .. ':seen', retired .. ':m')
  if buckets then
    current.length, current.retired_m = site.terms.guard_length, tonumber(buckets)
    current.retired = site.key .. ':seen:' .. retired .. ':'
    if current.n == 0 then drop_retired(current) end
  end
  return current, guard_table(site, name .. '@' .. (window - 1))
end

-- Return the tables of two windows. Only the current one gets new addresses, and seeing a known address prolongs
-- nothing.
function rolling_tables(site, name, span, now)
  local window = math.floor(now / span)
  local current = guard_table(site, name .. '@' .. window)
  current.expires = (window + 2) * span
  if current.n == 0 then guard_prune(site, name, window) end
  return current, guard_table(site, name .. '@' .. (window - 1))
end

-- Begin to flush the guard of a site. From now on its tables have other names, so that none of what is admitted
-- meanwhile is deleted. `flushing` holds how far the flush is.
function begin_flush(site)
  site.flushes, site.flushing = redis.call('HINCRBY', site.key, 'flushes', 1), '0'
  redis.call('HSET', site.key, 'flushing', '0')
  redis.call('UNLINK', site.key .. ':seen')
  schedule_look(site, now_ms())
end

-- Delete some keys of a site that is being flushed. Return a cursor, '0' at the end.
function flush_some(site)
  if not site.flushing then return '0' end
  local page = redis.call('SCAN', site.flushing, 'MATCH', site.key .. ':*', 'COUNT', 500)
  for _, key in ipairs(page[2]) do
    local kind, rest = string.match(string.sub(key, #site.key + 1), '^:(%a+):(.*)$')
    local is_old = kind == 'seen' and string.match(rest, '#(%d+)') ~= tostring(site.flushes)
    if is_old or kind == 'tail' then redis.call('UNLINK', key) end
    if kind == 'board' then redis.call('HDEL', key, 'validator') end
  end
  if page[1] == '0' then
    redis.call('HDEL', site.key, 'flushing')
  else
    redis.call('HSET', site.key, 'flushing', page[1])
  end
  return page[1]
end
