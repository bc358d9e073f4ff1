-- End a lease with everything its page gave: children through the guard into the ledger, items into the outbox with
-- what is done and admitted now (so that the database can rebuild a lost ledger), the thread's tail, the board's scan, the
-- counters; then release what the gate allows. All of it or nothing.
-- KEYS 1: key prefix
-- ARGV 1: site
-- ARGV 2: rid
-- ARGV 3: token
-- ARGV 4: items as a JSON array, which gets one more element: now, the entry that is done, the lines that were admitted
-- ARGV 5: tail page to remember for the request's thread, 0 for none
-- ARGV 6: outbox length from which the store is called at once
-- ARGV 7: outcome to count beside done, or ''; 'unchanged:list' of a page that is as the last scan found it
-- ARGV 8: what the attempt cost, as count_effort() reads it
-- ARGV 9: items that were dropped, as "reason count reason count", or ''
-- ARGV 10: what the page is known by to its server, as "<site version> <text>", or ''
-- ARGV 11: how many items it gave, for those who watch
-- ARGV 12: what the guard knows the request by when its page is gone, else ''
-- ARGV 13..: lines
-- RETURNS 0: {0, new, known, released}
-- RETURNS -1: the site is not published
-- RETURNS -2: the lease is not the caller's any more; nothing was changed

local REASONS = 100  -- counters of dropped items a site has at most; what has none is counted as other

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
local entry = end_lease(site, ARGV[2], ARGV[3])
if not entry then return {-2} end
local now = now_ms()
local stage, payload = string.match(entry, '^%d+ (%a+) %d %d+ %S+ (.*)$')

local trail = {string.format('%.0f', now), entry}
local has_cap = site.daily_new > 0 and #ARGV >= 13
local today = has_cap and day_at(site.offsets, now) or 0
local is_capped, is_unchanged = false, ARGV[7] == 'unchanged:list'
local found = has_cap and spent_on(site.found, today) or 0
local listed = stage == 'list' and cjson.decode(payload)
site.is_first_walk = listed and listed[2] > 1 and redis.call('SISMEMBER', site.key .. ':unscanned', listed[1]) == 1
for i = 13, #ARGV do
  if has_cap and found + site.fresh >= site.daily_new then  -- a trap: what is left out stays unknown
    tally(site, 'capped:daily_new', #ARGV - i + 1)
    is_capped = true
    break
  end
  if admit_line(site, ARGV[i], now) then trail[#trail + 1] = ARGV[i] end
end
if has_cap and site.fresh > 0 then
  redis.call('HSET', site.key, 'found', string.format('%.0f %.0f', today, found + site.fresh))
end
if ARGV[12] ~= '' then guard_gone(site, stage, ARGV[12], now) end
settle(site)
note_brood(site, stage, site.fresh)
if stage == 'list' then close_scan(site, payload, site.news, now) end
if tonumber(ARGV[5]) > 0 then
  local id = cjson.decode(payload)[1]
  local key = site.key .. ':tail:' .. string.sub(id, 1, -3)
  -- A post page tells how many pages there are, fewer than before perhaps, and a page that is gone that there are fewer; a
  -- comment page only that there is one more.
  if stage == 'post' or string.sub(ARGV[7], 1, 5) == 'gone:' or tonumber(ARGV[5]) > tonumber(redis.call('HGET', key, id) or 0) then redis.call('HSET', key, id, ARGV[5]) end
end
redis.call('HINCRBY', site.key, 'done:' .. stage, 1)
count_effort(site, stage, ARGV[8])
note_recent(site, now, entry, ARGV[8], string.match(ARGV[7], '^(gone):') or string.match(ARGV[7], '^(unchanged):') or ARGV[11])
local fetch_ms = fetch_ms_of(ARGV[8])
if fetch_ms > site.slow_ms then slow_down(site, ARGV[3], now, fetch_ms) else speed_up(site, ARGV[3]) end
if is_unchanged then count_unchanged(site, stage, payload) else keep_validator(site, stage, payload, is_capped and '' or ARGV[10], now) end
if string.sub(ARGV[7], 1, 5) ~= 'gone:' and not is_unchanged then note_good_page(site, stage, ARGV[2]) end
if ARGV[7] ~= '' then redis.call('HINCRBY', site.key, ARGV[7], 1) end
for reason, n in string.gmatch(ARGV[9], '(%S+) (%d+)') do count_dropped(site, reason, n) end
redis.call('XADD', P .. ':outbox', '*', 'items', string.sub(ARGV[4], 1, -2) .. ',' .. cjson.encode(trail) .. ']')
local worth = tonumber(ARGV[6])
if redis.call('XLEN', P .. ':outbox') >= worth and untaken() >= worth then call_store(now) end
return {0, site.fresh, site.known, release(site, now)}
