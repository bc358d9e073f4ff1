-- End a lease with all results of its page, or with none: children through the guard into the ledger, items into the
-- outbox, the thread's tail, the board's scan, the counters. With the items goes their trail, the requests that are done
-- and admitted now, so that the database can rebuild a lost ledger. Then release the requests that the gate allows.
-- FLAGS: allow-oom
-- KEYS 1: key prefix
-- KEYS 2: name of the call, as answers.lua reads it
-- ARGV 1: site
-- ARGV 2: rid
-- ARGV 3: token
-- ARGV 4: items as a JSON array without its last bracket. It gets one more element, the trail: now, the entry
--   that is done, the admitted lines
-- ARGV 5: tail page to remember for the request's thread, 0 for none
-- ARGV 6: outbox length from which the store task is called at once
-- ARGV 7: outcome to count beside done, or ''. It is 'unchanged:list' for a page that is as at the last scan
-- ARGV 8: cost of the attempt, as count_effort() reads it
-- ARGV 9: items that were dropped, as "reason count reason count", or ''
-- ARGV 10: HTTP validator of the page, as "<site version> <text>", or ''
-- ARGV 11: number of items, for monitoring
-- ARGV 12: guard word of a request that is made again when it is listed again, as its page is gone or came in part, else ''
-- ARGV 13: times of the last reply in seconds since the epoch, one for each line, 0 for unknown, or ''. For a list's next page
--   the time of the oldest row of this one, where the rows stand in the order of their last replies. Before them
--   stands `newest` on a page of the threads with the last news alone, and `single` on a list without other pages
-- ARGV 14: 1 to name the lines that the guard knew, else 0
-- ARGV 15: for the next page of a chain the terms of lease_next(), or ''
-- ARGV 16..: lines. Those of a front page are pings, and none of them is admitted
-- RETURNS 0: {0, new, known, released, 1 when the site is idle now, else 0, {place of each named line among the lines, from 0 ...},
--   the message of the next page, its site, the reply of lease.lua}, without the last three where there is no next page
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

local site = load_site(ARGV[1])
if not site then return {-1} end
if string.find(ARGV[7], '^gone:') then
  local held = redis.call('HGET', site.key .. ':open', ARGV[2]) or ''
  if is_gone_with_all(site, held, string.match(ARGV[8], '^%d+'), now_ms()) then return {-3} end
end
local entry = end_lease(site, ARGV[2], ARGV[3])
if not entry then return {-2} end
local now = now_ms()
local stage, level, payload = string.match(entry, '^%d+ (%a+) (%d) %d+ %S+ (.*)$')

local trail = {life_ms(site, now), entry}
local has_cap = site.terms.daily_new > 0 and #ARGV >= 16
local today = has_cap and day_at(site.terms.offsets, now) or 0
local left_out, is_unchanged = 0, ARGV[7] == 'unchanged:list'
local found = has_cap and spent_on(site.found, today) or 0
local most_new = tonumber(level) <= BACKFILL and site.terms.daily_new / 2 or site.terms.daily_new
site.walks_later = has_cap and found >= site.terms.daily_new / 2
local listed, times = stage == 'list' and cjson.decode(payload), stage == 'list' and numbers_in(ARGV[13])
local seen = {scan = new_scan(), hours = {}, is_unchanged = is_unchanged, is_gone = ARGV[7] == 'gone:list'}
if listed then begin_list_page(site, listed, level, times, now) end
local filtered = {}
local is_front = listed and string.find(ARGV[16] or '', '^%S+ %^ ')
if is_front then ping_boards(site, ARGV, 16, now) end
for i = is_front and #ARGV + 1 or 16, #ARGV do
  local news, known, line = site.news, site.known, false
  site.row_at = times and times[i - 15] or 0
  -- A crawler trap: lines left out stay unknown. The pages of a thread that was let in are no trap, and a board's further pages
  -- do not count: a later day's walk passes them again.
  if has_cap and found + site.fresh - site.further >= most_new and not string.find(ARGV[i], '^%S+ %p comment ') then left_out = left_out + 1
  else line = admit_line(site, ARGV[i], now) end
  if line then trail[#trail + 1] = line
  elseif ARGV[14] == '1' and site.known > known then filtered[#filtered + 1] = i - 16 end
  if site.counts_items and site.news > news then note_item(site, seen, listed, site.row_at, now)
  elseif site.counts_items and (site.row_at == 0 or site.known_until > 0 and site.row_at > site.known_until) then seen.is_shown = true end
end
if has_cap and site.fresh > site.further then
  site.found_today = string.format('%.0f %.0f', today, found + site.fresh - site.further)
end
if ARGV[12] ~= '' then guard_gone(site, stage, ARGV[12], now) end
flush_admission(site)
note_children(site, stage, site.fresh)
if left_out > 0 then
  tally(site, 'capped:daily_new', left_out)
  if listed and not is_news(site, listed[1]) then walk_whole(site, listed[1]) end
end
if listed then note_news_gap(site, listed[1], now) end
local extent = listed and string.match(ARGV[13], '^%a+')
if extent then note_scan_gap(site, listed[1], #ARGV - 15, extent == 'newest' and site.news or site.unseen, now) end
if stage == 'list' then close_scan(site, payload, level, site.news, now, seen) end
if tonumber(ARGV[5]) > 0 then
  local id = cjson.decode(payload)[1]
  local key = site.key .. ':tail:' .. string.sub(id, 1, -3)
  local known, token = read_tail(redis.call('HGET', key, id))
  -- A post page tells the number of comment pages, which may be fewer than before, and a page that is gone tells that there
  -- are fewer. A comment page only tells that there is one more, so that it must not lower the tail. Of two pages that are
  -- fetched at once the one that was leased first changes nothing behind the other.
  local tells_all = stage == 'post' or string.sub(ARGV[7], 1, 5) == 'gone:'
  if tonumber(ARGV[3]) > token and (tells_all or tonumber(ARGV[5]) > known) then
    redis.call('HSET', key, id, ARGV[5] .. '.' .. ARGV[3])
  end
end
redis.call('HINCRBY', site.key, 'done:' .. stage, 1)
note_page(site)
count_effort(site, stage, ARGV[8])
note_recent(site, now, entry, ARGV[8], string.match(ARGV[7], '^(gone):') or string.match(ARGV[7], '^(unchanged):') or ARGV[11])
local fetch_ms = fetch_ms_of(ARGV[8])
if fetch_ms <= site.terms.slow_ms then speed_up(site, ARGV[3])
elseif is_strained(site, string.match(entry, '^%d+ %a+ %d %d+ (%S+)'), now, fetch_ms) then slow_down(site, ARGV[3], now, fetch_ms) end
if is_unchanged then count_unchanged(site, payload)
elseif listed then keep_validator(site, payload, left_out > 0 and '' or ARGV[10], now) end
note_answer(site, stage, ARGV[2], string.sub(ARGV[7], 1, 5) ~= 'gone:' and not is_unchanged)
if stage == 'list' and ARGV[7] ~= 'gone:list' then believe_gone(site, now) end
if listed and listed[2] == 1 then
  local shows = ARGV[7] == 'gone:list' and 'gone' or tonumber(ARGV[11]) > 0 and 'threads' or 'nothing'
  if is_unchanged or is_front or listed[4] then shows = shows == 'gone' and shows or 'a page' end
  if note_first_page(site, listed[1], shows, now) then let_dead_page_go(site, listed[1], now) end
end
if ARGV[7] ~= '' then redis.call('HINCRBY', site.key, ARGV[7], 1) end
for reason, n in string.gmatch(ARGV[9], '(%S+) (%d+)') do count_dropped(site, reason, n) end
put_items(site, now, ARGV[4] .. ',' .. cjson.encode(trail) .. ']')
local worth = tonumber(ARGV[6])
if outbox_size() >= worth and untaken() >= worth then call_store(now) end
local released = release(site, now)
local is_idle = site.fresh + released == 0 and idle_state(site) > 0
if is_idle and ask_for_check(site, now) then released, is_idle = release(site, now), false end
return {0, site.fresh, site.known, released, is_idle and 1 or 0, filtered, lease_next(site, now, ARGV[15])}
