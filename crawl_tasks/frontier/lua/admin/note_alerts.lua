-- Note the alerts that fire now, so that each is sent once when it begins, again after a while, and once when it ends,
-- with any number of senders. A notice that could not be sent is undone, and comes again at the next look; since when
-- is noted until a look has nothing to send.
-- INCLUDES: lib/site
-- KEYS 1: key prefix
-- ARGV 1: claim, undo, or leave: the sender ends in order, and nobody need miss it
-- ARGV 2: claim: ms after which a lasting alert is sent again. undo: begins, lasts or ended
-- ARGV 3: claim: names of the alerts that were looked for, comma-separated: only these can have ended. undo: the alert
-- ARGV 4..: claim: the alerts that fire, behind "+", or "?" for one that is too young to begin. undo: when it began,
--   ms. Behind them claim: "@" and the ms until the sender's next look
-- RETURNS 0: {0, {change, alert, time of its beginning in ms, ...}}

local now, key = now_ms(), P .. ':alarms'
local text = function(ms) return string.format('%.0f', ms) end

if ARGV[1] == 'undo' then
  redis.call('HSETNX', P .. ':stats', 'alerts_unsent_at', text(now))
  if ARGV[2] == 'begins' then
    redis.call('HDEL', key, ARGV[3])
  else
    redis.call('HSET', key, ARGV[3], ARGV[4] .. ' ' .. (ARGV[2] == 'lasts' and '0' or text(now)))
  end
  return {0, {}}
end

if ARGV[1] == 'leave' then
  redis.call('HDEL', P .. ':stats', 'alerts_at', 'alerts_every', 'alerts_unsent_at')
  return {0, {}}
end

local fires, changes, known = {}, {}, {}
local held = redis.call('HGETALL', key)  -- bounded: a few for each site and queue
for i = 1, #held, 2 do known[held[i]] = held[i + 1] end
local function note(change, alert, since)
  changes[#changes + 1], changes[#changes + 2], changes[#changes + 3] = change, alert, since
end

for i = 4, #ARGV do
  local mark, alert = string.match(ARGV[i], '^(.)(.*)$')
  fires[alert] = true
  if mark == '@' then redis.call('HSET', P .. ':stats', 'alerts_at', text(now), 'alerts_every', alert) end
  local since, sent = string.match(known[alert] or '', '^(%d+) (%d+)$')
  if not since and mark == '+' then
    redis.call('HSET', key, alert, text(now) .. ' ' .. text(now))
    note('begins', alert, text(now))
  elseif since and now - sent >= tonumber(ARGV[2]) then
    redis.call('HSET', key, alert, since .. ' ' .. text(now))
    note('lasts', alert, since)
  end
end
local judged = {}
for name in string.gmatch(ARGV[3], '[^,]+') do judged[name] = true end
for alert, times in pairs(known) do
  if not fires[alert] and judged[string.match(alert, '^%S+')] then
    redis.call('HDEL', key, alert)
    note('ended', alert, string.match(times, '^%d+'))
  end
end
if #changes == 0 then redis.call('HDEL', P .. ':stats', 'alerts_unsent_at') end
return {0, changes}
