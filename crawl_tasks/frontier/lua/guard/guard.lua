-- The guard (duplicate filter): which request is new, which is another revision, and which page comes back.
--
-- The guard knows a line by its first word, "<40 bits>.<16 bits>.<mark>", which entry.py writes. Functions take
-- a whole line in place of its word, so that no row of a list page is cut twice. Revision 0 means none.
-- In a full pass the mark follows that a scan would have, behind a slash, see note_pass(). An echo has the fingerprint
-- of its request there, see admits_echo().
-- INCLUDES: lib/site guard/bloom_filter guard/tables
-- EXPORTS: guard_admits guard_gone guard_holds

-- Revisions of a page that is gone: GONE + 128 * n + k waits for k more listings before the next request. ASKED + n was
-- requested after it had been gone, or by a full pass. The revisions of entry.py end below.
local ADDRESSES, SOURCES = WIRE.mark.addresses, WIRE.mark.sources
local ASKED, GONE = WIRE.mark.asked, WIRE.mark.gone

-- Entries beside that of an address, as if of two boards more: how often it was listed unchanged, and the mark that it
-- was listed with when it was found gone or in part.
local HITS, WHEN_GONE = WIRE.mark.hits, WIRE.mark.when_gone

-- Return the guard of a stage: its mode, the table that it writes, and one that it only reads. Pages of a full pass are
-- remembered apart, and no longer than the period of the pass. Cached, as every row of a list page needs it.
local function guard_of(site, stage, now, is_full)
  local name = is_full and 'full-' .. stage or stage
  local guard = site.page.guarded[name]
  if guard then return guard end
  local suffix = site.flushes and '#' .. site.flushes or ''  -- a flush begins other tables
  guard = {mode = is_full and 'rolling' or site.terms.guard[stage]}
  -- The worker asked the database, which keeps of each page one revision, of whatever list. What it cannot know, which
  -- list showed another one and which page is gone, a rolling table remembers of these pages alone.
  if is_full then
    local span = site.terms.full_pass_ms > 0 and site.terms.full_pass_ms or site.terms.rolling_ms
    guard.t, guard.older = rolling_tables(site, name .. suffix, span, now)
  elseif guard.mode == 'rolling' and site.terms.guard_length > 0 then
    guard.t, guard.older = tables_by_length(site, stage .. suffix)
  elseif guard.mode == 'rolling' or guard.mode == 'database' then
    guard.t, guard.older = rolling_tables(site, stage .. suffix, site.terms.rolling_ms, now)
    -- What the database knows of a site that was removed is of no account, and the database may not have heard of it.
    guard.is_of_former_life = guard.mode == 'database'
      and redis.call('SISMEMBER', P .. ':undecided', site.name .. ' site') == 1
  elseif guard.mode == 'exact' then
    guard.t = guard_table(site, stage .. suffix)
  elseif guard.mode == 'bloom' then
    guard.t = guard_table(site, stage .. suffix .. '~')
  elseif guard.mode ~= 'off' then
    error('no guard of mode ' .. tostring(guard.mode))
  end
  site.page.guarded[name] = guard
  return guard
end

-- Return the numbers of a word, or of a line that begins with one: the address, 16 more bits of its hash, and the mark.
local function numbers_of(word)
  local address, rest, mark = string.match(word, '^(%d+)%.(%d+)%.(%d+)')
  return address + 0, rest + 0, mark + 0  -- cheaper than tonumber()
end

-- Look up the mark that one board gave an address which another board listed first.
local function look_up_source(t, older, address, rest, source, mark)
  return look_up(t, older, (address + source * WIRE.mark.source_step) % ADDRESSES, rest, mark)
end

-- Write the mark that one board gave. It is looked up here, as the bucket may be the one that was just written.
local function write_own(t, older, address, rest, mark)
  if mark % SOURCES == 0 then return end
  local _, digits, bits, key, member = look_up_source(t, older, address, rest, mark % SOURCES)
  write_mark(t, mark, digits, bits, key, member)
end

-- Write the mark of a board that has one beside that of the address, unless it has a revision already: the mark's own,
-- or another.
local function keep_own_word(t, older, address, rest, mark, revision)
  if mark % SOURCES == 0 then return end
  local own, digits, bits, key, member = look_up_source(t, older, address, rest, mark % SOURCES)
  if own and revision_of(own) ~= revision then write_mark(t, mark, digits, bits, key, member) end
end

-- Pass a request through a bloom filter. Return whether it was new, and for an echo whether its thread was named
-- before.
local function bloom_admits(site, t, address, rest, mark, flag)
  local revision = revision_of(mark)
  local is_new = bloom_insert(site, t, address, rest, revision)
  if flag == '=' then
    return is_new, bloom_holds(site, t, address, rest, 0, math.floor(t.n / site.terms.guard_capacity) + 1)
  end
  -- A hub or an echo may name the page without a revision.
  if revision > 0 then bloom_insert(site, t, address, rest, 0) end
  return is_new, true
end

-- Pass an echo, which is the row of a board that tells of news in a thread of another one. Return whether the echo is
-- new, and whether its thread was named before. The thread's own mark stays, as its board's list will show another
-- revision, or none. The pages of a board tell of ever older news of the same thread, so that each echo is remembered,
-- not only the last, and by its fingerprint, which has more of the revision than a mark: a thread has tens of
-- thousands.
local function admits_echo(t, older, thread, address, rest, mark, fingerprint)
  local revision = revision_of(mark)
  address = (address + (tonumber(string.sub(fingerprint, 1, -8)) or 0)) % ADDRESSES
  rest = (rest + tonumber(string.sub(fingerprint, -7))) % 65536
  local own, digits, bits, key = look_up_source(t, older, address, rest, mark % SOURCES, mark % SOURCES)
  local is_known = own or thread and revision_of(thread) == revision
  if not is_known then write_mark(t, mark % SOURCES, digits, bits, key) end
  return not is_known, thread ~= nil
end

-- Return whether a list shows another revision of a page than it did when the page was found gone, or in part. Another
-- board's list tells nothing of that: it may show an old revision for ever.
local function is_changed_since(t, older, address, rest, mark)
  local then_shown = revision_of(mark) > 0 and look_up_source(t, older, address, rest, WHEN_GONE, mark)
  if not then_shown or revision_of(then_shown) == revision_of(mark) then return false end
  return then_shown % SOURCES == 0 or then_shown % SOURCES == mark % SOURCES  -- 0: no list had named the page before
end

-- Return the next mark of a page that was gone and is listed again, and whether to request it: at once the first time
-- and with each new revision, and unchanged after 1, 3, 7 .. listings (exponential backoff).
local function gone_and_listed(mark, is_changed, listed_by)
  local revision, source = revision_of(mark), mark % SOURCES
  if source == 0 then source = listed_by end
  local n, k = math.floor((revision - GONE) / 128), (revision - GONE) % 128
  if is_changed then return (ASKED + math.max(n - 1, 0)) * SOURCES + source, true end  -- the distance stays as it is
  if k == 0 then return (ASKED + n) * SOURCES + source, 'again' end
  return (revision - 1) * SOURCES + source, false
end

-- Tell the guard of scans that the list of a full pass showed another revision of a page than the last scan: a count
-- that returns to the value of that scan is a change then. The revision itself is not told, as a pass has the lowest
-- priority: a scan that sees the revision too requests the page at once.
local function note_pass(site, stage, address, rest, mark, now)
  local guard, revision, source = guard_of(site, stage, now, false), revision_of(mark), mark % SOURCES
  if revision == 0 or guard.mode == 'off' or guard.mode == 'bloom' then return end
  local known, digits, bits, key, member = look_up(guard.t, guard.older, address, rest)
  if not known or revision_of(known) >= GONE then return end
  if revision_of(known) ~= revision then
    write_mark(guard.t, ASKED * SOURCES + known % SOURCES, digits, bits, key, member)
  end
  if source ~= known % SOURCES then
    keep_own_word(guard.t, guard.older, address, rest, ASKED * SOURCES + source, revision)
  end
end

-- Return whether to request a page again that is listed unchanged: 'again' at every so many-th listing, where the site
-- says so. The count has an entry of its own, as that of a board.
local function is_hit_enough(site, t, older, address, rest)
  local count, digits, bits, key, member = look_up_source(t, older, address, rest, HITS)
  local hits = count and count + 1 or 1
  write_mark(t, hits < site.terms.guard_hits and hits or 0, digits, bits, key, member)
  return hits >= site.terms.guard_hits and 'again'
end

-- Pass a request through the guard. Return whether to make it, for an echo whether its thread was named before, and
-- whether an exact or rolling guard met it for the first time. A request is made for a new address, or for another
-- revision than that of the last request. A page that was gone is 'again' and no news.
-- Flag "-" means that its list calls the page deleted: of a known page only the revision is noted. Flag "*" means that
-- the database, where it is the guard, has the page with that revision, and "/" that it has it otherwise.
-- Where two boards list one thread, the mark of each is compared with the last mark of the same board. Otherwise a
-- board that keeps showing an old count would have the thread fetched at every scan of both.
function guard_admits(site, stage, word, now, flag)
  local is_full = flag == '~'
  local guard = guard_of(site, stage, now, is_full)
  if guard.mode == 'off' then return true, true end
  local address, rest, mark = numbers_of(word)
  local t, older = guard.t, guard.older
  if guard.mode == 'bloom' then return bloom_admits(site, t, address, rest, mark, flag) end
  if guard.is_of_former_life and (flag == '*' or flag == '/') then flag = '!' end
  if is_full then note_pass(site, stage, address, rest, tonumber(string.match(word, '/(%d+)')), now) end
  local known, digits, bits, key, member = look_up(t, older, address, rest, mark)
  if flag == '=' then return admits_echo(t, older, known, address, rest, mark, string.match(word, '/(%d+)')) end
  if not known then
    if guard.mode == 'database' and flag ~= '/' and flag ~= '+' then return flag ~= '*', true, flag ~= '*' end
    write_mark(t, mark, digits, bits, key)
    if guard.mode == 'database' then write_own(t, older, address, rest, mark) end
    return true, true, true
  end
  local last, revision, source, listed_by = revision_of(known), revision_of(mark), mark % SOURCES, known % SOURCES
  if last >= GONE and flag ~= '-' then
    local listed, is_due = gone_and_listed(known, is_changed_since(t, older, address, rest, mark), mark % SOURCES)
    write_mark(t, listed, digits, bits, key, member)
    return is_due, true
  end
  if revision == 0 or revision == last then
    -- What this list says and another one said before is its own last word all the same.
    if revision > 0 and listed_by > 0 and (source ~= listed_by or guard.mode == 'database') then
      keep_own_word(t, older, address, rest, mark, revision)
    end
    return site.terms.guard_hits > 0 and flag ~= '-' and stage ~= 'list' and not is_full
      and is_hit_enough(site, t, older, address, rest), true
  end
  -- Of a page that it has otherwise, the database does not know which board listed it first.
  local is_other = source ~= 0 and listed_by ~= 0 and (source ~= listed_by or guard.mode == 'database')
  if is_other then
    local own = look_up_source(t, older, address, rest, source)
    if own and revision_of(own) == revision then return false, true end
  end
  write_mark(t, revision * SOURCES + (listed_by == 0 and source or listed_by), digits, bits, key, member)
  if is_other then write_own(t, older, address, rest, mark) end
  return flag ~= '-', true
end

-- Remember that a page is gone. One that comes back may have the same revision in its list, and is requested all the
-- same.
function guard_gone(site, stage, word, now)
  local guard = guard_of(site, stage, now, false)
  if guard.mode == 'off' or guard.mode == 'bloom' then return end
  local address, rest, mark = numbers_of(word)
  local known, digits, bits, key, member = look_up(guard.t, guard.older, address, rest)
  known = known or mark
  local last = revision_of(known)
  local n = last >= ASKED and last < GONE and math.min(last - ASKED + 1, 7) or 0
  local waits = n > 0 and math.min(2 ^ n - 1, 127) or 0
  write_mark(guard.t, (GONE + 128 * n + waits) * SOURCES + known % SOURCES, digits, bits, key, member)
  if revision_of(mark) == 0 then return end
  mark = mark - mark % SOURCES + known % SOURCES  -- a request does not say which list named it: most have one
  known, digits, bits, key, member = look_up_source(guard.t, guard.older, address, rest, WHEN_GONE)
  if known ~= mark or not member then write_mark(guard.t, mark, digits, bits, key, member) end
end

-- Return whether an address was entered, of exact and rolling guards with any revision. Changes nothing.
function guard_holds(site, stage, word, now)
  local guard = guard_of(site, stage, now, false)
  if guard.mode == 'off' or guard.mode == 'database' then return true end
  local address, rest, mark = numbers_of(word)
  if guard.mode == 'bloom' then
    return bloom_holds(site, guard.t, address, rest, revision_of(mark),
      math.floor(guard.t.n / site.terms.guard_capacity) + 1)
  end
  return look_up(guard.t, guard.older, address, rest) ~= nil
end
