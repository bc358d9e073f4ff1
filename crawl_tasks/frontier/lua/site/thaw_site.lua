-- Publish a frozen site again at one instant: in the cell that it has moved to, or where it was, if it stays there.
-- INCLUDES: lib/site
-- FLAGS: allow-oom
-- KEYS 1: key prefix
-- ARGV 1: site
-- ARGV 2: token of the mover
-- ARGV 3: arriving, or leaving for a site that stays where it is
-- RETURNS 0: {0}
-- RETURNS 1: {1}, another mover has taken over
-- RETURNS 2: {2}, the site is not frozen here

if not holds_move(ARGV[3], ARGV[1], ARGV[2]) then return {1} end
local key, now = P .. ':s:' .. ARGV[1], now_ms()
if redis.call('EXISTS', key .. ':frozen') == 0 then
  if ARGV[3] == 'arriving' or redis.call('HEXISTS', P .. ':sites', ARGV[1]) == 0 then return {2} end
  redis.call('HDEL', P .. ':leaving', ARGV[1])  -- it stood still only
  schedule_look({name = ARGV[1]}, now)
  return {0}
end
redis.call('RENAME', key .. ':frozen', key)
redis.call('HSET', P .. ':sites', ARGV[1], redis.call('HGET', key, 'file'))
if ARGV[3] == 'arriving' then
  redis.call('HINCRBY', key, 'stored', redis.call('HGET', key, 'rejected') or 0)
  -- Pages that were laid aside here before it left are counted by that: they are of a life before.
  local since = tonumber(redis.call('HGET', key, 'since') or 0)
  redis.call('HSETNX', key, 'watched', string.format('%.0f', since))
  redis.call('HSET', key, 'since', string.format('%.0f', math.max(now, since + 1)))
end
redis.call('HDEL', key, 'file', 'rejected')
redis.call('HDEL', P .. ':' .. ARGV[3], ARGV[1])
redis.call('HDEL', P .. ':moved', ARGV[1])
redis.call('SET', P .. ':epoch', string.format('%.0f', now), 'NX')
redis.call('ZADD', P .. ':early', now, ARGV[1])
schedule_look({name = ARGV[1]}, now)
note_change({name = ARGV[1]})
return {0}
