-- End a lease with all results of its page, or with none: children through the guard into the ledger, items into the
-- outbox, the thread's tail, the board's scan, the counters. With the items goes their trail, the requests that are
-- done and admitted now, so that the database can rebuild a lost ledger. Then release the requests that the gate
-- allows.
-- INCLUDES: lib/site guard/guard lib/admission lib/backlog_limit lib/backoff lib/boards lib/circuit_breaker
-- INCLUDES: lib/failures lib/http_validator lib/idle lib/lease lib/pending_pages lib/quiet_hours lib/release
-- INCLUDES: schedule/news schedule/pings schedule/scan
-- FLAGS: allow-oom
-- KEYS 1: key prefix
-- KEYS 2: name of the call, as answers.lua reads it
-- ARGV: the locals of CommitFields in frontier/wire/lease_end.py, and from FIRST on lines. The lines of a front page
--   are pings, and none of them is admitted. `last_replies` has one time for each line. For a list's next page it is
--   the time of the oldest row of this one, where the rows stand in the order of their last replies. Before the times
--   stands `newest` on a page of the threads with the last news alone, and `single` on a list without other pages
-- RETURNS 0: {0, new, known, released, 1 when the site is idle now, else 0, {place of each named line among the lines,
--   from 0 ...}, the message of the next page, its site, the reply of lease.lua}, without the last three where there is
--   no next page
-- RETURNS -1: the site is not published
-- RETURNS -2: the lease is not the caller's any more, and nothing was changed
-- RETURNS -3: all pages are gone now, so that this one may be there, and nothing was changed

-- A site's own code names the reasons: beyond so many, dropped items are counted as other.
local REASONS = 100

local function count_dropped(site, reason, n)
  local field = 'dropped:' .. reason
  if redis.call('HEXISTS', site.key, field) == 0 and redis.call('HINCRBY', site.key, 'drop_reasons', 1) > REASONS then
    redis.call('HSET', site.key, 'drop_reasons', REASONS)
    field = 'dropped:other'
  end
  redis.call('HINCRBY', site.key, field, n)
end

local site = load_site(name)
if not site then return {-1} end
if string.find(outcome, '^gone:') then
  local held = redis.call('HGET', site.key .. ':open', rid) or ''
  if is_gone_with_all(site, held, string.match(effort, '^%d+'), now_ms()) then return {-3} end
end
local entry = end_lease(site, rid, token)
if not entry then return {-2} end
local now = now_ms()
local stage, level, payload = string.match(entry, WIRE.entry.stage_priority_payload)

local page, trail = site.page, {life_ms(site, now), entry}
local has_cap = site.terms.daily_new > 0 and #ARGV >= FIRST
local today = has_cap and day_at(site.terms.offsets, now) or 0
local left_out, is_unchanged = 0, outcome == 'unchanged:list'
local found = has_cap and spent_on(site.found, today) or 0
local most_new = tonumber(level) <= BACKFILL and site.terms.daily_new / 2 or site.terms.daily_new
page.walks_later = has_cap and found >= site.terms.daily_new / 2
local listed, times = stage == 'list' and cjson.decode(payload), stage == 'list' and numbers_in(last_replies)
local seen = {scan = new_scan(), hours = {}, is_unchanged = is_unchanged, is_gone = outcome == 'gone:list'}
if listed then begin_list_page(site, listed, level, times, now) end
local filtered = {}
local is_front = listed and string.match(ARGV[FIRST] or '', WIRE.line.flag) == '^'
if is_front then ping_boards(site, ARGV, FIRST, now) end
for i = is_front and #ARGV + 1 or FIRST, #ARGV do
  local news, known, line = page.news, page.known, false
  page.row_at = times and times[i - FIRST + 1] or 0
  -- A crawler trap: lines left out stay unknown. The pages of a thread that was let in are no trap, and a board's
  -- further pages do not count: a later day's walk passes them again.
  local is_full = has_cap and found + page.fresh - page.further >= most_new
  if is_full and string.match(ARGV[i], WIRE.line.stage) ~= 'comment' then
    left_out = left_out + 1
  else
    line = admit_line(site, ARGV[i], now)
  end
  if line then
    trail[#trail + 1] = line
  elseif names_filtered and page.known > known then
    filtered[#filtered + 1] = i - FIRST
  end
  if page.counts_items and page.news > news then
    note_item(site, seen, listed, page.row_at, now)
  elseif page.counts_items and (page.row_at == 0 or page.known_until > 0 and page.row_at > page.known_until) then
    seen.is_shown = true
  end
end
if has_cap and page.fresh > page.further then
  page.found_today = string.format('%.0f %.0f', today, found + page.fresh - page.further)
end
if again_word ~= '' then guard_gone(site, stage, again_word, now) end
flush_admission(site)
note_children(site, stage, page.fresh)
if left_out > 0 then
  tally(site, 'capped:daily_new', left_out)
  if listed and not is_news(site, listed[1]) then walk_whole(site, listed[1]) end
end
if listed then note_news_gap(site, listed[1], now) end
local extent = listed and string.match(last_replies, '^%a+')
if extent then
  note_scan_gap(site, listed[1], #ARGV - FIRST + 1, extent == 'newest' and page.news or page.unseen, now)
end
if stage == 'list' then close_scan(site, payload, level, page.news, now, seen) end
if tail > 0 then
  local id = cjson.decode(payload)[1]
  local key = site.key .. ':tail:' .. string.sub(id, 1, -3)
  local known, known_by = read_tail(redis.call('HGET', key, id))
  -- A post page tells the number of comment pages, which may be fewer than before, and a page that is gone tells that
  -- there are fewer. A comment page only tells that there is one more, so that it must not lower the tail. Of two pages
  -- that are fetched at once the one that was leased first changes nothing behind the other.
  local tells_all = stage == 'post' or string.sub(outcome, 1, 5) == 'gone:'
  if tonumber(token) > known_by and (tells_all or tail > known) then
    redis.call('HSET', key, id, tail .. '.' .. token)
  end
end
redis.call('HINCRBY', site.key, 'done:' .. stage, 1)
note_page(site)
count_effort(site, stage, effort)
local kind = string.match(outcome, '^(gone):') or string.match(outcome, '^(unchanged):')
note_recent(site, now, entry, effort, kind or item_count)
local fetch_ms = fetch_ms_of(effort)
if fetch_ms <= site.terms.slow_ms then speed_up(site, token)
elseif is_strained(site, string.match(entry, WIRE.entry.address), now, fetch_ms) then
  slow_down(site, token, now, fetch_ms)
end
if is_unchanged then count_unchanged(site, payload)
elseif listed then keep_validator(site, payload, left_out > 0 and '' or validator, now) end
note_answer(site, stage, rid, string.sub(outcome, 1, 5) ~= 'gone:' and not is_unchanged)
if stage == 'list' and outcome ~= 'gone:list' then believe_gone(site, now) end
if listed and listed[2] == 1 then
  local shows = outcome == 'gone:list' and 'gone' or tonumber(item_count) > 0 and 'threads' or 'nothing'
  if is_unchanged or is_front or listed[4] then shows = shows == 'gone' and shows or 'a page' end
  if note_first_page(site, listed[1], shows, now) then let_dead_page_go(site, listed[1], now) end
end
if outcome ~= '' then redis.call('HINCRBY', site.key, outcome, 1) end
for reason, n in string.gmatch(dropped, '(%S+) (%d+)') do count_dropped(site, reason, n) end
put_items(site, now, items .. ',' .. cjson.encode(trail) .. ']')
if outbox_size() >= store_at and untaken() >= store_at then call_store(now) end
local released = release(site, now)
local is_idle = page.fresh + released == 0 and idle_state(site) > 0
if is_idle and ask_for_check(site, now) then released, is_idle = release(site, now), false end
return {0, page.fresh, page.known, released, is_idle and 1 or 0, filtered, lease_next(site, now, chain)}
