-- End a lease without a result: wait and try again, park, or bury. The gate may be told to slow down.
-- KEYS 1: key prefix
-- ARGV 1: site
-- ARGV 2: rid
-- ARGV 3: token
-- ARGV 4: delayed, parked or dead
-- ARGV 5: ms to wait when delayed
-- ARGV 6: reason, one word
-- ARGV 7: ms for which the whole site rests, 0 for none
-- ARGV 8: details, one line
-- ARGV 9: what the attempt cost, as count_effort() reads it
-- ARGV 10: 1 when the page came and said nothing, for the breaker, else 0
-- ARGV 11: 1 when the site should be asked more slowly, else 0
-- RETURNS 0: {0, released}
-- RETURNS -1: the site is not published
-- RETURNS -2: the lease is not the caller's any more; nothing was changed

local site = load_site(ARGV[1])
if not site then return {-1} end
local rid, now = ARGV[2], now_ms()
local entry = end_lease(site, rid, ARGV[3])
if not entry then return {-2} end

if tonumber(ARGV[7]) > 0 then redis.call('HDEL', site.key, 'turn') end  -- who is late with a turn waits as well
if tonumber(ARGV[7]) > 0 and now + ARGV[7] > site.next_at then
  tally(site, 'rest_ms', string.format('%.0f', now + ARGV[7] - math.max(site.next_at, now)))
  site.next_at = now + ARGV[7]
  redis.call('HSET', site.key, 'next_at', string.format('%.0f', site.next_at))
end
if ARGV[11] == '1' then slow_down(site, ARGV[3], now, fetch_ms_of(ARGV[9])) end
redis.call('HINCRBY', site.key, 'failed:' .. ARGV[6], 1)
local stage = string.match(entry, '^%d+ (%a+)')
count_effort(site, stage, ARGV[9])
note_recent(site, now, entry, ARGV[9], ARGV[6])
if ARGV[10] == '1' then note_bad_page(site, stage, rid, ARGV[6], now) end
if ARGV[4] ~= 'dead' then tally(site, ARGV[4] .. ':' .. ARGV[6], 1) end
if ARGV[4] == 'delayed' then
  redis.call('ZADD', site.key .. ':delayed', now + ARGV[5], entry)
  attend(site, now + ARGV[5])
elseif ARGV[4] == 'parked' then
  redis.call('HSET', site.key .. ':parked', rid, string.format('%.0f', now) .. ' ' .. ARGV[6] .. ' ' .. ARGV[8] .. '\n' .. entry)
else
  bury(site, entry, ARGV[6] .. ' ' .. ARGV[8], now)
end
return {0, release(site, now)}
