-- Shared by every script, behind site.lua: the guard (duplicate filter). It holds each address with the revision of the
-- last request for it. Defines functions, changes nothing by itself.
--
-- A table holds addresses by linear hashing (Litwin 1980): when the table outgrows its buckets, one bucket is split, so that
-- each stays small and no rehash is ever long. A bucket is one string of entries of ten bytes: seven of the address' hash,
-- three of a mark. A mark is revision * 16 + source: 20 bits of the revision's hash, 4 of the board whose list named the
-- page. Spare entries are zero, so that a new one is written in place: ten bytes for the append-only file.
--
-- The guard knows a line by its first word, "<32 bits>.<24 bits>.<mark>/<63 bits>", which entry.py writes. Functions take
-- a whole line in place of its word, so that no row of a list page is cut twice. Revision 0 means none.
-- The last number is the fingerprint by which version 1 knew the request, see was_seen_before(), or in a full pass the mark
-- that a scan would have, see note_pass().
-- EXPORTS: ENTRY EMPTY entry_at guard_admits guard_gone guard_holds begin_flush flush_some

local BUCKET = 128            -- mean entries of a bucket: each look-up reads a whole one
local TAG = 7                 -- bytes of an address' hash
ENTRY = 10                    -- bytes of an entry
EMPTY = '\0\0\0\0\0\0\0\0\0\0'
-- Entries by which a full bucket grows: of about 100, 4 are empty. While Redis loads a library there is no string.rep().
local SPARES = EMPTY .. EMPTY .. EMPTY .. EMPTY .. EMPTY .. EMPTY .. EMPTY .. EMPTY
-- Revisions of a page that is gone: GONE + 128 * n + k waits for k more listings before the next request. ASKED + n was
-- requested after it had been gone, or by a full pass. The revisions of entry.py end below.
local SOURCES, ASKED, GONE = 16, 1048576 - 1032, 1048576 - 1024

local function revision_of(mark) return (mark - mark % SOURCES) / SOURCES end

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

-- Return the first byte of the entry that begins with a tag, or nil. The search starts at a byte, or at the first. A hit
-- across the border of two entries is none.
function entry_at(text, tag, from)
  local at = string.find(text, tag, from or 1, true)
  while at and (at - 1) % ENTRY ~= 0 do at = string.find(text, tag, at + ENTRY - (at - 1) % ENTRY, true) end
  return at
end

local function write_bucket(t, key, text)
  if t.expires then redis.call('SET', key, text, 'PXAT', t.expires) else redis.call('SET', key, text) end
end

-- Drop buckets of the window that nobody reads any more: as many for each new bucket as make it vanish while this window fills.
local function drop_retired(t)
  local share = math.ceil(t.retired_m * BUCKET / t.length)
  for b = (t.m - 1) * share, math.min(t.m * share, t.retired_m) - 1 do redis.call('UNLINK', t.retired .. b) end
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
  if t.retired then drop_retired(t) end
end

-- Look an address up in a table. Return its mark, nil for an unknown one, and its place: tag, key, bucket, first byte there.
-- `older` is a table that is only read. The five are no Lua table, as this runs once for every row of every list page.
local function look_up(t, older, high, low)
  local tag, key = struct.pack('>I4I3', high, low), t.key .. bucket_of(t, low)
  local text = redis.call('GET', key) or ''
  local at = entry_at(text, tag)
  if at then return struct.unpack('>I3', text, at + TAG), tag, key, text, at end
  return older and older.n > 0 and look_up(older, nil, high, low) or nil, tag, key, text
end

-- Write the mark of a place that was looked up. Between the two nothing else may be written to the table.
local function write_mark(t, mark, tag, key, text, at)
  local packed = struct.pack('>I3', mark)
  if at then
    redis.call('SETRANGE', key, at - 1 + TAG, packed)
    return
  end
  -- Spare entries stand last. Marks without a revision have zeros too, so that a search of the whole would halt often.
  local spare = entry_at(text, EMPTY, math.max(1, #text - #SPARES + 1))
  if spare then
    redis.call('SETRANGE', key, spare - 1, tag .. packed)
  else
    write_bucket(t, key, text .. tag .. packed .. SPARES)
  end
  t.n, t.dirty = t.n + 1, true
  if t.n > t.m * BUCKET then split_bucket(t) end
end

-- Bloom filters (Bloom 1970) of PROBES bits a fingerprint, in bitmaps that hold `capacity` fingerprints each. After a full
-- one comes the next. At 24 bits a fingerprint a full filter has a false-positive rate of 1e-5. A filter keeps no revision
-- beside an address, it holds pairs of both: an address that returns to an earlier revision is known.
local PROBES, BITS = 17, 24

-- Two halves of a fingerprint give all its places (double hashing, Kirsch and Mitzenmacher 2006).
local function bloom_command(site, high, low, revision, operation, value)
  local size = site.terms.guard_capacity * BITS
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
  local current = math.floor(t.n / site.terms.guard_capacity)
  if bloom_holds(site, t, high, low, revision, current) then return false end
  local set = bloom_command(site, high, low, revision, 'SET', 1)
  if all_ones(redis.call('BITFIELD', t.key .. current, unpack(set))) then return false end
  t.n, t.dirty = t.n + 1, true
  return true
end

-- Forget the sizes of a rolling table's windows but the last two. The buckets expire by themselves.
local function guard_prune(site, name, window)
  for _, field in ipairs(redis.call('HKEYS', site.key .. ':seen')) do  -- bounded: two windows of each table
    local of, number = string.match(field, '^(.*)@(%d+):%a$')
    number = tonumber(number)
    if of == name and number ~= window and number ~= window - 1 then redis.call('HDEL', site.key .. ':seen', field) end
  end
end

-- Return the number of a rolling guard's window by length. The next one begins when the present one is full. Of the window
-- that is forgotten then, the number of buckets stays until the next one ends, as they are dropped little by little.
local function window_by_length(site, name)
  local key = site.key .. ':seen'
  local window = tonumber(redis.call('HGET', key, name .. ':w') or 1)
  if tonumber(redis.call('HGET', key, name .. '@' .. window .. ':n') or 0) < site.terms.guard_length then return window end
  redis.call('HSET', key, name .. ':w', window + 1)
  redis.call('HDEL', key, name .. '@' .. (window - 1) .. ':n', name .. '@' .. (window - 2) .. ':m')
  return window + 1
end

-- Return the tables of two windows of as many addresses as the guard is long.
local function tables_by_length(site, name)
  local window = window_by_length(site, name)
  local current, retired = guard_table(site, name .. '@' .. window), name .. '@' .. (window - 2)
  local buckets = redis.call('HGET', site.key .. ':seen', retired .. ':m')
  if buckets then
    current.length, current.retired, current.retired_m = site.terms.guard_length, site.key .. ':seen:' .. retired .. ':', tonumber(buckets)
    if current.n == 0 then drop_retired(current) end
  end
  return current, guard_table(site, name .. '@' .. (window - 1))
end

-- Return the tables of two windows. Only the current one gets new addresses, and seeing a known address prolongs nothing.
local function rolling_tables(site, name, span, now)
  local window = math.floor(now / span)
  local current = guard_table(site, name .. '@' .. window)
  current.expires = (window + 2) * span
  if current.n == 0 then guard_prune(site, name, window) end
  return current, guard_table(site, name .. '@' .. (window - 1))
end

-- Return the guard of a stage: its mode, the table that it writes, and one that it only reads. Pages of a full pass are
-- remembered apart, and no longer than the period of the pass. Cached, as every row of a list page needs it.
local function guard_of(site, stage, now, is_full)
  local name = is_full and 'full-' .. stage or stage
  local guard = site.guarded[name]
  if guard then return guard end
  local suffix = site.flushes and '#' .. site.flushes or ''  -- a flush begins other tables
  guard = {mode = is_full and 'rolling' or site.terms.guard[stage]}
  -- The worker asked the database, which keeps of each page one revision, of whatever list. What it cannot know, which list
  -- showed another one and which page is gone, a rolling table remembers of these pages alone.
  if is_full then
    guard.t, guard.older = rolling_tables(site, name .. suffix, site.terms.full_pass_ms > 0 and site.terms.full_pass_ms or site.terms.rolling_ms, now)
  elseif guard.mode == 'rolling' and site.terms.guard_length > 0 then
    guard.t, guard.older = tables_by_length(site, stage .. suffix)
  elseif guard.mode == 'rolling' or guard.mode == 'database' then
    guard.t, guard.older = rolling_tables(site, stage .. suffix, site.terms.rolling_ms, now)
    -- What the database knows of a site that was removed is of no account, and the database may not have heard of it.
    guard.is_of_former_life = guard.mode == 'database' and redis.call('SISMEMBER', P .. ':undecided', site.name .. ' site') == 1
  elseif guard.mode == 'exact' then
    guard.t = guard_table(site, stage .. suffix)
  elseif guard.mode == 'bloom' then
    guard.t = guard_table(site, stage .. suffix .. '~')
  elseif guard.mode ~= 'off' then
    error('no guard of mode ' .. tostring(guard.mode))
  end
  site.guarded[name] = guard
  return guard
end

-- Return the numbers of a word, or of a line that begins with one: the address' hash in two parts, and the mark.
local function numbers_of(word)
  local high, low, mark = string.match(word, '^(%d+)%.(%d+)%.(%d+)/')
  return high + 0, low + 0, mark + 0  -- cheaper than tonumber()
end

-- Return whether version 1 knew a request. That version kept the fingerprints of all requests, revision included, in sets of
-- integers, in the keys `guard` and `g`. An address that only these sets know is taken over when a page names it again.
local function was_seen_before(site, stage, word)
  local m = site.old_buckets[stage]
  if not m then
    m = tonumber(redis.call('HGET', site.key .. ':guard', stage .. ':m') or 0)
    site.old_buckets[stage] = m
  end
  if m == 0 then return false end
  local round, fingerprint = 1, string.match(word, '/(%d+)')
  while round * 2 <= m do round = round * 2 end
  local high, low = tonumber(string.sub(fingerprint, 1, -11)) or 0, tonumber(string.sub(fingerprint, -10))
  local b = ((high % (round * 2)) * (10000000000 % (round * 2)) + low) % (round * 2)
  if b >= m then b = b - round end
  return redis.call('SISMEMBER', site.key .. ':g:' .. stage .. ':' .. b, fingerprint) == 1
end

-- Look up the mark that one board gave an address which another board listed first.
local function look_up_source(t, older, high, low, source)
  return look_up(t, older, (high + source * 2654435761) % 4294967296, low)
end

-- Write the mark that one board gave. It is looked up here, as the bucket may be the one that was just written.
local function write_own(t, older, high, low, mark)
  if mark % SOURCES == 0 then return end
  local _, tag, key, text, at = look_up_source(t, older, high, low, mark % SOURCES)
  write_mark(t, mark, tag, key, text, at)
end

-- Write the mark of a board that has one beside that of the address, unless it has a revision already: the mark's own, or another.
local function keep_own_word(t, older, high, low, mark, revision)
  if mark % SOURCES == 0 then return end
  local own, tag, key, text, at = look_up_source(t, older, high, low, mark % SOURCES)
  if own and revision_of(own) ~= revision then write_mark(t, mark, tag, key, text, at) end
end

-- Pass a request through a bloom filter. Return whether it was new, and for an echo whether its thread was named before.
local function bloom_admits(site, t, high, low, mark, flag)
  local revision = revision_of(mark)
  local is_new = bloom_insert(site, t, high, low, revision)
  if flag == '=' then return is_new, bloom_holds(site, t, high, low, 0, math.floor(t.n / site.terms.guard_capacity) + 1) end
  if revision > 0 then bloom_insert(site, t, high, low, 0) end  -- a hub or an echo may name the page without a revision
  return is_new, true
end

-- Pass an echo, which is the row of a board that tells of news in a thread of another one. Return whether the echo is new,
-- and whether its thread was named before. The thread's own mark stays, as its board's list will show another revision, or
-- none. The pages of a board tell of ever older news of the same thread, so that each echo is remembered, not only the last, and by
-- its fingerprint, which has more of the revision than a mark: a thread has tens of thousands.
local function admits_echo(t, older, thread, high, low, mark, fingerprint)
  local revision = revision_of(mark)
  high = (high + (tonumber(string.sub(fingerprint, 1, -8)) or 0)) % 4294967296
  low = (low + tonumber(string.sub(fingerprint, -7))) % 16777216
  local own, tag, key, text, at = look_up_source(t, older, high, low, mark % SOURCES)
  local is_known = own or thread and revision_of(thread) == revision
  if not is_known then write_mark(t, mark, tag, key, text, at) end
  return not is_known, thread ~= nil
end

-- Return the next mark of a page that was gone and is listed again, and whether to request it: at once the first time, then
-- after 1, 3, 7 .. listings (exponential backoff).
local function gone_and_listed(mark)
  local revision, source = revision_of(mark), mark % SOURCES
  local n, k = math.floor((revision - GONE) / 128), (revision - GONE) % 128
  return (k > 0 and revision - 1 or ASKED + n) * SOURCES + source, k == 0
end

-- Tell the guard of scans that the list of a full pass showed another revision of a page than the last scan: a count that
-- returns to the value of that scan is a change then. The revision itself is not told, as a pass has the lowest priority: a
-- scan that sees the revision too requests the page at once.
local function note_pass(site, stage, high, low, mark, now)
  local guard, revision, source = guard_of(site, stage, now, false), revision_of(mark), mark % SOURCES
  if revision == 0 or guard.mode == 'off' or guard.mode == 'bloom' then return end
  local known, tag, key, text, at = look_up(guard.t, guard.older, high, low)
  if not known or revision_of(known) >= GONE then return end
  if revision_of(known) ~= revision then write_mark(guard.t, ASKED * SOURCES + known % SOURCES, tag, key, text, at) end
  if source ~= known % SOURCES then keep_own_word(guard.t, guard.older, high, low, ASKED * SOURCES + source, revision) end
end

-- Return whether to request a page again that is listed unchanged: 'again' at every so many-th listing, where the site says so.
-- The count has an entry of its own, as that of a board, which none has as the 16th.
local function is_hit_enough(site, t, older, high, low)
  local count, tag, key, text, at = look_up_source(t, older, high, low, SOURCES)
  local hits = count and count + 1 or 1
  write_mark(t, hits < site.terms.guard_hits and hits or 0, tag, key, text, at)
  return hits >= site.terms.guard_hits and 'again'
end

-- Pass a request through the guard. Return whether to make it, for an echo whether its thread was named before, and whether an
-- exact or rolling guard met it for the first time. A request is made for a new address, or for another revision than that of the
-- last request. A page that was gone is 'again' and no news.
-- Flag "-" means that its list calls the page deleted: of a known page only the revision is noted. Flag "*" means that the
-- database, where it is the guard, has the page with that revision, and "/" that it has it otherwise.
-- Where two boards list one thread, the mark of each is compared with the last mark of the same board. Otherwise a board
-- that keeps showing an old count would have the thread fetched at every scan of both.
function guard_admits(site, stage, word, now, flag)
  local is_full = flag == '~'
  local guard = guard_of(site, stage, now, is_full)
  if guard.mode == 'off' then return true, true end
  local high, low, mark = numbers_of(word)
  local t, older = guard.t, guard.older
  if guard.mode == 'bloom' then return bloom_admits(site, t, high, low, mark, flag) end
  if guard.is_of_former_life and (flag == '*' or flag == '/') then flag = '!' end
  if is_full then note_pass(site, stage, high, low, tonumber(string.match(word, '/(%d+)')), now) end
  local known, tag, key, text, at = look_up(t, older, high, low)
  if flag == '=' then return admits_echo(t, older, known, high, low, mark, string.match(word, '/(%d+)')) end
  if not known then
    if guard.mode == 'database' and flag ~= '/' and flag ~= '+' then return flag ~= '*', true, flag ~= '*' end
    write_mark(t, mark, tag, key, text)
    if guard.mode == 'database' then write_own(t, older, high, low, mark) end
    local is_new = not was_seen_before(site, stage, word)
    return is_full or is_new, true, is_new
  end
  local last, revision, source, listed_by = revision_of(known), revision_of(mark), mark % SOURCES, known % SOURCES
  if last >= GONE and flag ~= '-' then
    local listed, is_due = gone_and_listed(known)
    write_mark(t, listed, tag, key, text, at)
    return is_due and 'again', true
  end
  if revision == 0 or revision == last then
    -- What this list says and another one said before is its own last word all the same.
    if revision > 0 and listed_by > 0 and (source ~= listed_by or guard.mode == 'database') then keep_own_word(t, older, high, low, mark, revision) end
    return site.terms.guard_hits > 0 and flag ~= '-' and stage ~= 'list' and not is_full and is_hit_enough(site, t, older, high, low), true
  end
  -- Of a page that it has otherwise, the database does not know which board listed it first.
  local is_other = source ~= 0 and listed_by ~= 0 and (source ~= listed_by or guard.mode == 'database')
  if is_other then
    local own = look_up_source(t, older, high, low, source)
    if own and revision_of(own) == revision then return false, true end
  end
  write_mark(t, revision * SOURCES + (listed_by == 0 and source or listed_by), tag, key, text, at)
  if is_other then write_own(t, older, high, low, mark) end
  return flag ~= '-', true
end

-- Remember that a page is gone. One that comes back may have the same revision in its list, and is requested all the same.
function guard_gone(site, stage, word, now)
  local guard = guard_of(site, stage, now, false)
  if guard.mode == 'off' or guard.mode == 'bloom' then return end
  local high, low, mark = numbers_of(word)
  local known, tag, key, text, at = look_up(guard.t, guard.older, high, low)
  known = known or mark
  local last = revision_of(known)
  local n = last >= ASKED and last < GONE and math.min(last - ASKED + 1, 7) or 0
  local waits = n > 0 and math.min(2 ^ n - 1, 127) or 0
  write_mark(guard.t, (GONE + 128 * n + waits) * SOURCES + known % SOURCES, tag, key, text, at)
end

-- Return whether an address was entered, of exact and rolling guards with any revision. Changes nothing.
function guard_holds(site, stage, word, now)
  local guard = guard_of(site, stage, now, false)
  if guard.mode == 'off' or guard.mode == 'database' then return true end
  local high, low, mark = numbers_of(word)
  if guard.mode == 'bloom' then
    return bloom_holds(site, guard.t, high, low, revision_of(mark), math.floor(guard.t.n / site.terms.guard_capacity) + 1)
  end
  return look_up(guard.t, guard.older, high, low) ~= nil or was_seen_before(site, stage, word)
end

-- Begin to flush the guard of a site. From now on its tables have other names, so that none of what is admitted meanwhile is deleted.
-- `flushing` holds how far the flush is.
function begin_flush(site)
  site.flushes, site.flushing = redis.call('HINCRBY', site.key, 'flushes', 1), '0'
  redis.call('HSET', site.key, 'flushing', '0')
  redis.call('UNLINK', site.key .. ':seen', site.key .. ':guard')
  schedule_look(site, now_ms())
end

-- Delete some keys of a site that is being flushed. Return a cursor, '0' at the end.
function flush_some(site)
  if not site.flushing then return '0' end
  local page = redis.call('SCAN', site.flushing, 'MATCH', site.key .. ':*', 'COUNT', 500)
  for _, key in ipairs(page[2]) do
    local kind, rest = string.match(string.sub(key, #site.key + 1), '^:(%a+):(.*)$')
    local is_old = kind == 'seen' and string.match(rest, '#(%d+)') ~= tostring(site.flushes)
    if is_old or kind == 'g' or kind == 'tail' then redis.call('UNLINK', key) end
    if kind == 'board' then redis.call('HDEL', key, 'validator') end
  end
  if page[1] == '0' then redis.call('HDEL', site.key, 'flushing') else redis.call('HSET', site.key, 'flushing', page[1]) end
  return page[1]
end
