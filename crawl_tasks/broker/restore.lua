-- Adopt messages that a worker of an earlier version took and did not acknowledge: it recorded them in kombu's own keys, which workers of
-- other projects use too. Only that version wrote an entry without blanks, for a queue of ours. Others stay.
-- KEYS 1: kombu's unacked hash, KEYS 2: kombu's unacked index, KEYS 3: our unacked hash, KEYS 4: our unacked index
-- ARGV 1: cursor, 0 to begin
-- ARGV 2: seconds, the latest time of such a message: its worker may be at work on a later one
-- ARGV 3..: our queues
-- RETURNS 0: {0, next cursor (0 at the end), messages adopted}

local is_ours, adopted = {}, 0
for i = 3, #ARGV do is_ours[ARGV[i]] = true end
local page = redis.call('HSCAN', KEYS[1], ARGV[1], 'COUNT', 100)
for i = 1, #page[2], 2 do
  local tag, text = page[2][i], page[2][i + 1]
  local queue, at = string.match(text, ',"","([^"]*)"%]$'), redis.call('ZSCORE', KEYS[2], tag)
  if queue and is_ours[queue] and tonumber(at or 0) <= tonumber(ARGV[2]) then
    redis.call('HSET', KEYS[3], tag, text)
    redis.call('ZADD', KEYS[4], at or 0, tag)
    redis.call('HDEL', KEYS[1], tag)
    redis.call('ZREM', KEYS[2], tag)
    adopted = adopted + 1
  end
end
return {0, page[1], adopted}
