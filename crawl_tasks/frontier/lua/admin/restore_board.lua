-- Restore the schedule of a board after its ledger was lost: the last scan, the rate of new items as far as the
-- database has their times, and the due time of the next scan.
-- INCLUDES: lib/site lib/admission schedule/scan
-- KEYS 1: key prefix
-- ARGV 1: site
-- ARGV 2: board
-- ARGV 3: number of its last scan
-- ARGV 4: time of the last fetch of its first page, ms
-- ARGV 5: sums over the new items that a scan at that time would have shown of the past: items, heat, past, oldest, or
--   ''
-- ARGV 6: their numbers by hour of day, or ''
-- RETURNS 0: {0, 1 when the site still has the board, else 0}
-- RETURNS -1: the site is not published

local site = load_site(ARGV[1])
if not site then return {-1, 0} end
local key = board_key(site, ARGV[2])
local v = redis.call('HMGET', key, 'interval_ms', 'open', 'min_ms', 'max_ms', 'walk_open')
if not v[1] then return {0, 0} end
-- The newest row of the last scan is not known, but was posted before it. Two days more, as a site's time zone may be
-- wrong.
local restored = math.max(0, math.floor(ARGV[4] / 1000) - 172800)
redis.call('HSET', key, 'scan', ARGV[3], 'started_at', ARGV[4], 'scanned_at', ARGV[4], 'restored', restored)
local interval = learn_past(site, ARGV[2], ARGV[5], ARGV[6], tonumber(ARGV[4])) or tonumber(v[1])
redis.call('HSET', key, 'interval_ms', interval)
plan_scan(site, ARGV[2], ARGV[4] + interval, interval, v[3] == v[4])
if tonumber(v[2]) <= 0 then redis.call('SREM', site.key .. ':unscanned', ARGV[2]) end
if tonumber(v[5] or 0) > 0 then redis.call('HSETNX', key, 'first', 0) end  -- it may be the first walk over the board
note_change(site)
return {0, 1}
