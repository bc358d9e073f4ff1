-- Shared by every script, behind _site.lua: the dedup guard, which knows of each address the revision it was last asked
-- for with. Defines functions, changes nothing by itself.
--
-- A table holds addresses by linear hashing (Litwin 1980): bucket n is split when the table outgrows its buckets, one at a
-- time, so each stays small and no rehash is ever long. A bucket is one string of entries of ten bytes: seven of the
-- address' hash, three of a mark. A mark is revision * 16 + source: 20 bits of the revision's hash, 4 of the board whose
-- list named the page. Spare entries are zero, so that a new one is written in place: ten bytes for the append-only file.
--
-- What a line is known by is its first word, "<32 bits>.<24 bits>.<mark>/<63 bits>"; entry.py writes it. Revision 0 is none.
-- The last number is the fingerprint by which version 1 knew the request, see was_seen_before(), or in a full pass the mark
-- that a scan would have, see note_pass().

local BUCKET = 128            -- mean entries of a bucket: a look reads one whole
local TAG, ENTRY = 7, 10      -- bytes of an address' hash; of an entry
local SPARE = 8               -- entries by which a full bucket grows: of about 100, 4 are empty
local EMPTY = string.rep('\0', ENTRY)
local SPARES = string.rep(EMPTY, SPARE)
-- Revisions of a page that is gone: GONE + 128 * n + k waits for k more listings before it is asked for again; ASKED + n was
-- asked for after it had been gone, or asked for by a full pass. Those of entry.py end below.
local SOURCES, ASKED, GONE = 16, 1048576 - 1032, 1048576 - 1024

local function revision_of(mark) return math.floor(mark / SOURCES) end

local function guard_table(site, name)
  local t = site.guards[name]
  if t then return t end
  local v = redis.call('HMGET', site.key .. ':seen', name .. ':n', name .. ':m')
  t = {key = site.key .. ':seen:' .. name .. ':', n = tonumber(v[1] or 0), m = tonumber(v[2] or 1), name = name}
  t.round = 1
  while t.round * 2 <= t.m do t.round = t.round * 2 end
  site.guards[name] = t
  return t
end

local function bucket_of(t, low)
  local b = low % (t.round * 2)
  return b < t.m and b or b - t.round
end

-- Where a text of whole entries has one that begins with `what`: its first byte, or nil.
local function entry_at(text, what)
  local at = string.find(text, what, 1, true)
  while at and (at - 1) % ENTRY ~= 0 do at = string.find(text, what, at + 1, true) end
  return at
end

local function write_bucket(t, key, text)
  if t.expires then redis.call('SET', key, text, 'PXAT', t.expires) else redis.call('SET', key, text) end
end

local function split_bucket(t)
  local from, to = t.m - t.round, t.m
  local text = redis.call('GET', t.key .. from) or ''
  local stay, move = {}, {}
  for i = 1, #text, ENTRY do
    local entry = string.sub(text, i, i + ENTRY - 1)
    if entry ~= EMPTY then
      local half = struct.unpack('>I3', entry, 5) % (t.round * 2) == from and stay or move
      half[#half + 1] = entry
    end
  end
  write_bucket(t, t.key .. from, table.concat(stay) .. SPARES)
  write_bucket(t, t.key .. to, table.concat(move) .. SPARES)
  t.m = t.m + 1
  if t.m == t.round * 2 then t.round = t.m end
end

-- Look an address up in a table: its mark, nil when it is not known, and its place: tag, key, bucket, first byte there.
-- `older` is a table that is only read. No table holds the five: this runs once for every row of every list page.
local function look_up(t, older, high, low)
  local tag, key = struct.pack('>I4I3', high, low), t.key .. bucket_of(t, low)
  local text = redis.call('GET', key) or ''
  local at = entry_at(text, tag)
  if at then return struct.unpack('>I3', text, at + TAG), tag, key, text, at end
  return older and older.n > 0 and look_up(older, nil, high, low) or nil, tag, key, text
end

-- Write the mark of a place that was looked up, before anything else is written to its table.
local function write_mark(t, mark, tag, key, text, at)
  local packed = struct.pack('>I3', mark)
  if at then
    redis.call('SETRANGE', key, at - 1 + TAG, packed)
    return
  end
  local spare = entry_at(text, EMPTY)
  if spare then
    redis.call('SETRANGE', key, spare - 1, tag .. packed)
  else
    write_bucket(t, key, text .. tag .. packed .. SPARES)
  end
  t.n, t.dirty = t.n + 1, true
  if t.n > t.m * BUCKET then split_bucket(t) end
end

-- Bloom filters (Bloom 1970) of PROBES bits a fingerprint, in bitmaps that hold `capacity` fingerprints each; a full one
-- is followed by the next. At 24 bits a fingerprint a full filter has a false-positive rate of 1e-5. A filter keeps no
-- revision beside an address: it knows an address of a revision, so one that returns to an earlier revision is known.
local PROBES, BITS = 17, 24

-- Two halves of a fingerprint give all its places (Kirsch and Mitzenmacher 2006).
local function bloom_command(site, high, low, revision, operation, value)
  local size = site.capacity * BITS
  local at, step = (high + revision * 2654435761) % 4294967296, (low + revision * 40503) % 16777216 * 256 + 1
  local words = {}
  for i = 1, PROBES do
    words[#words + 1], words[#words + 2], words[#words + 3] = operation, 'u1', string.format('%.0f', (at + i * step) % size)
    words[#words + 1] = value
  end
  return words
end

local function all_ones(bits)
  for _, bit in ipairs(bits) do
    if bit == 0 then return false end
  end
  return true
end

local function bloom_holds(site, t, high, low, revision, filters)
  local probes = bloom_command(site, high, low, revision, 'GET')
  for i = 0, filters - 1 do
    if all_ones(redis.call('BITFIELD_RO', t.key .. i, unpack(probes))) then return true end
  end
  return false
end

local function bloom_insert(site, t, high, low, revision)
  local current = math.floor(t.n / site.capacity)
  if bloom_holds(site, t, high, low, revision, current) then return false end
  local set = bloom_command(site, high, low, revision, 'SET', 1)
  if all_ones(redis.call('BITFIELD', t.key .. current, unpack(set))) then return false end
  t.n, t.dirty = t.n + 1, true
  return true
end

-- Forget what is noted of a table's windows but the last two; their buckets end by themselves.
local function guard_prune(site, name, window)
  for _, field in ipairs(redis.call('HKEYS', site.key .. ':seen')) do  -- bounded: two windows of each table
    local of, number = string.match(field, '^(.*)@(%d+):%a$')
    number = tonumber(number)
    if of == name and number ~= window and number ~= window - 1 then redis.call('HDEL', site.key .. ':seen', field) end
  end
end

-- The tables of two windows: `rolling` writes the current one, so that seeing an address again prolongs nothing.
local function rolling_tables(site, name, span, now)
  local window = math.floor(now / span)
  local current = guard_table(site, name .. '@' .. window)
  current.expires = (window + 2) * span
  if current.n == 0 then guard_prune(site, name, window) end
  return current, guard_table(site, name .. '@' .. (window - 1))
end

-- The table that a stage writes, and one that it reads only. What a full pass saw is remembered apart, and no longer than
-- its period.
local function guard_tables(site, stage, now, is_full)
  if is_full then return rolling_tables(site, 'full-' .. stage, site.full > 0 and site.full or site.rolling, now) end
  if stage_letter(site.guard, stage) == 'r' then return rolling_tables(site, stage, site.rolling, now) end
  return guard_table(site, stage)
end

-- Version 1 kept the fingerprints of all requests, revision included, in sets of integers of the keys `guard` and `g`. An
-- address that only they know is taken over when it is named again.
local function was_seen_before(site, stage, fingerprint)
  local m = site.old_buckets[stage]
  if not m then
    m = tonumber(redis.call('HGET', site.key .. ':guard', stage .. ':m') or 0)
    site.old_buckets[stage] = m
  end
  if m == 0 then return false end
  local round = 1
  while round * 2 <= m do round = round * 2 end
  local high, low = tonumber(string.sub(fingerprint, 1, -11)) or 0, tonumber(string.sub(fingerprint, -10))
  local b = ((high % (round * 2)) * (10000000000 % (round * 2)) + low) % (round * 2)
  if b >= m then b = b - round end
  return redis.call('SISMEMBER', site.key .. ':g:' .. stage .. ':' .. b, fingerprint) == 1
end

-- What one board said of an address that another board listed first, as look_up() gives it.
local function look_up_source(t, older, high, low, source)
  return look_up(t, older, (high + source * 2654435761) % 4294967296, low)
end

-- A bloom filter's answer: whether the request was new; an echo of a thread that nobody named is remembered, not asked for.
local function bloom_admits(site, stage, high, low, mark, flag)
  local t, revision = guard_table(site, stage .. '~'), revision_of(mark)
  local is_new = bloom_insert(site, t, high, low, revision)
  if flag == '=' then return is_new, bloom_holds(site, t, high, low, 0, math.floor(t.n / site.capacity) + 1) end
  if revision > 0 then bloom_insert(site, t, high, low, 0) end  -- a hub or an echo may name it without
  return is_new, true
end

-- Say whether an echo is new: the row of a board that tells of news in a thread of another one; and whether that thread
-- was named. The thread's own mark stays: its board's list will show another revision than the echo, or none. One page
-- after the other tells of older news of the same thread, so that each echo is remembered, not only the last.
local function admits_echo(t, older, thread, high, low, mark)
  local revision = revision_of(mark)
  local own, tag, key, text, at = look_up_source(t, older, high, (low + revision * 40503) % 16777216, mark % SOURCES)
  local is_known = own or thread and revision_of(thread) == revision
  if not is_known then write_mark(t, mark, tag, key, text, at) end
  return not is_known, thread ~= nil
end

-- The mark of a page that was gone and is listed again, and whether to ask for it: at once after the first time, then
-- after 1, 3, 7 .. listings.
local function gone_and_listed(mark)
  local revision, source = revision_of(mark), mark % SOURCES
  local n, k = math.floor((revision - GONE) / 128), (revision - GONE) % 128
  return (k > 0 and revision - 1 or ASKED + n) * SOURCES + source, k == 0
end

-- Tell the guard of scans that the list of a full pass showed another revision of a page than it knows: a count that
-- returns to what the last scan saw is a change. The revision itself is not told: a pass goes behind everything else, and
-- a scan that sees it too asks at once.
local function note_pass(site, stage, high, low, mark, now)
  local mode, revision = stage_letter(site.guard, stage), revision_of(mark)
  if revision == 0 or mode == 'o' or mode == 'b' then return end
  local t, older = guard_tables(site, stage, now, false)
  local known, tag, key, text, at = look_up(t, older, high, low)
  if not known or revision_of(known) == revision or revision_of(known) >= GONE then return end
  write_mark(t, ASKED * SOURCES + known % SOURCES, tag, key, text, at)
end

-- Say whether a request is to be made: its address is new, or has another revision than it was last asked for with; and
-- whether its thread was named before; 'again' of one that was gone, which is no news. Flag "-": its list says that it is deleted, so that known, it is only noted.
-- Where two boards list one thread, each board's word is held against that board's last word: one that keeps showing an
-- old count would otherwise have the thread fetched at every scan of both.
local function guard_admits(site, stage, word, now, flag)
  local is_full = flag == '~'
  local mode = is_full and 'r' or stage_letter(site.guard, stage)
  if mode == 'o' then return true, true end
  local high, low, mark, fingerprint = string.match(word, '^(%d+)%.(%d+)%.(%d+)/(%d+)')
  high, low, mark = tonumber(high), tonumber(low), tonumber(mark)
  if mode == 'b' then return bloom_admits(site, stage, high, low, mark, flag) end
  if is_full then note_pass(site, stage, high, low, tonumber(fingerprint), now) end
  local t, older = guard_tables(site, stage, now, is_full)
  local known, tag, key, text, at = look_up(t, older, high, low)
  if flag == '=' then return admits_echo(t, older, known, high, low, mark) end
  if not known then
    write_mark(t, mark, tag, key, text)
    return is_full or not was_seen_before(site, stage, fingerprint), true
  end
  local last, revision, source, listed_by = revision_of(known), revision_of(mark), mark % SOURCES, known % SOURCES
  if last >= GONE and flag ~= '-' then
    local listed, is_due = gone_and_listed(known)
    write_mark(t, listed, tag, key, text, at)
    return is_due and 'again', true
  end
  if revision == 0 or revision == last then return false, true end
  local is_other = source ~= 0 and listed_by ~= 0 and source ~= listed_by
  if is_other then
    local own = look_up_source(t, older, high, low, source)
    if own and revision_of(own) == revision then return false, true end
  end
  write_mark(t, revision * SOURCES + (listed_by == 0 and source or listed_by), tag, key, text, at)
  if is_other then  -- looked up anew: its bucket may be the one that was just written
    local _, own_tag, own_key, own_text, own_at = look_up_source(t, older, high, low, source)
    write_mark(t, mark, own_tag, own_key, own_text, own_at)
  end
  return flag ~= '-', true
end

-- Remember that a page is gone: its list may show the same revision when it is back.
local function guard_gone(site, stage, word, now)
  local mode = stage_letter(site.guard, stage)
  if mode == 'o' or mode == 'b' then return end
  local high, low, mark = string.match(word, '^(%d+)%.(%d+)%.(%d+)')
  local t, older = guard_tables(site, stage, now, false)
  local known, tag, key, text, at = look_up(t, older, tonumber(high), tonumber(low))
  known = known or tonumber(mark)
  local last = revision_of(known)
  local n = last >= ASKED and last < GONE and math.min(last - ASKED + 1, 7) or 0
  local waits = n > 0 and math.min(2 ^ n - 1, 127) or 0
  write_mark(t, (GONE + 128 * n + waits) * SOURCES + known % SOURCES, tag, key, text, at)
end

-- Say whether an address was entered: of exact and rolling guards with any revision.
local function guard_holds(site, stage, word, now)
  local mode = stage_letter(site.guard, stage)
  if mode == 'o' then return true end
  local high, low, mark, fingerprint = string.match(word, '^(%d+)%.(%d+)%.(%d+)/(%d+)')
  high, low = tonumber(high), tonumber(low)
  if mode == 'b' then
    local t = guard_table(site, stage .. '~')
    return bloom_holds(site, t, high, low, revision_of(tonumber(mark)), math.floor(t.n / site.capacity) + 1)
  end
  local t, older = guard_tables(site, stage, now, false)
  return look_up(t, older, high, low) ~= nil or was_seen_before(site, stage, fingerprint)
end
