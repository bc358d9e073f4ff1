-- Receive up to k messages from the queues. Hints need no record: the frontier sends a lost one again. Messages of
-- other programs are recorded in `unacked` in the same instant, so that no crash can lose them between queue and
-- record.
-- A worker with empty queues waits for a wake-up, of which each queue has at most one. Here the caller passes it on
-- where it leaves messages, and takes it where it leaves none. So a message wakes one worker, however many wait.
-- KEYS 1: unacked hash, KEYS 2: unacked index, then the queues' wake-ups, then the lists in the order to serve them:
--   those of all queues for the first priority, then those for the next one, ...
-- ARGV 1: time of the caller, seconds
-- ARGV 2: k
-- ARGV 3: kombu's separator between queue and priority step
-- ARGV 4: mark of a hint in the raw text
-- ARGV 5: number of queues
-- ARGV 6: seconds more until messages of other queues than those of ARGV 7 ff. count as lost
-- RETURNS 0: {0, {queue, {messages}, ...}}

local is_ours = {}
for i = 7, #ARGV do is_ours[ARGV[i]] = true end

local left, queues, taken = tonumber(ARGV[2]), tonumber(ARGV[5]), {}
local lists = #KEYS - 2 - queues
local pop = {unpack(KEYS, 3 + queues)}
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
        redis.call('ZADD', KEYS[2], is_ours[queue] and ARGV[1] or ARGV[1] + ARGV[6], tag)
      end
    end
  end
  taken[#taken + 1], taken[#taken + 2] = queue, popped[2]
  left = left - #popped[2]
end
if left > 0 then  -- all lists are empty
  redis.call('UNLINK', unpack(KEYS, 3, 2 + queues))
  return {0, taken}
end
for i = 1, queues do
  for list = 2 + queues + i, #KEYS, queues do
    if redis.call('EXISTS', KEYS[list]) == 1 and redis.call('EXISTS', KEYS[2 + i]) == 0 then
      redis.call('LPUSH', KEYS[2 + i], 1)
    end
  end
end
return {0, taken}
