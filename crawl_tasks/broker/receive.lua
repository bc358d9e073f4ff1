-- Receive up to k messages from the queues. Hints need no record: the frontier sends a lost one again. Messages of other
-- programs are recorded in `unacked` in the same instant, so that no crash can lose them between queue and record.
-- KEYS 1: unacked hash, KEYS 2: unacked index, then the queues' bells, then the lists in the order to serve them
-- ARGV 1: time of the caller, seconds
-- ARGV 2: k
-- ARGV 3: kombu's separator between queue and priority step
-- ARGV 4: mark of a hint in the raw text
-- ARGV 5: number of bells
-- RETURNS 0: {0, {last id of each bell}, {queue, {messages}, ...}}

local left, bells = tonumber(ARGV[2]), tonumber(ARGV[5])
local ids, taken = {}, {}
for i = 3, 2 + bells do
  local last = redis.call('XREVRANGE', KEYS[i], '+', '-', 'COUNT', 1)
  ids[#ids + 1] = last[1] and last[1][1] or '0-0'
end
local lists = #KEYS - 2 - bells
local pop = {unpack(KEYS, 3 + bells)}
pop[lists + 1], pop[lists + 2] = 'RIGHT', 'COUNT'
while left > 0 do
  pop[lists + 3] = left
  local popped = redis.call('LMPOP', lists, unpack(pop))
  if not popped then break end
  local queue = popped[1]
  local cut = string.find(queue, ARGV[3], 1, true)
  if cut then queue = string.sub(queue, 1, cut - 1) end
  for _, message in ipairs(popped[2]) do
    if not string.find(message, ARGV[4], 1, true) then
      local tag = string.match(message, '"delivery_tag": ?"([^"]+)"')
      if tag then
        redis.call('HSET', KEYS[1], tag, '[' .. message .. ',"","' .. queue .. '"]')
        redis.call('ZADD', KEYS[2], ARGV[1], tag)
      end
    end
  end
  taken[#taken + 1], taken[#taken + 2] = queue, popped[2]
  left = left - #popped[2]
end
return {0, ids, taken}
