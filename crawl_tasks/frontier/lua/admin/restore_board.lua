-- Restore the schedule of a board after its ledger was lost: the last scan, and the due time of the next one.
-- KEYS 1: key prefix
-- ARGV 1: site
-- ARGV 2: board
-- ARGV 3: number of its last scan
-- ARGV 4: time of the last fetch of its first page, ms
-- RETURNS 0: {0, 1 when the site still has the board, else 0}
-- RETURNS -1: the site is not published

local site = load_site(ARGV[1])
if not site then return {-1, 0} end
local key = board_key(site, ARGV[2])
local v = redis.call('HMGET', key, 'interval_ms', 'open')
if not v[1] then return {0, 0} end
redis.call('HSET', key, 'scan', ARGV[3], 'started_at', ARGV[4], 'scanned_at', ARGV[4])
redis.call('ZADD', P .. ':boards', 'XX', ARGV[4] + v[1], site.name .. ' ' .. ARGV[2])
if tonumber(v[2]) <= 0 then redis.call('SREM', site.key .. ':unscanned', ARGV[2]) end
note_change(site)
return {0, 1}
