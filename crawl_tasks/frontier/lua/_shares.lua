-- Shared by every script, behind _breaker.lua: how the lanes of a site share what its gate lets go. A lane is a stage, or
-- `backfill`: all requests of low priority, whatever their stage. Among lanes that have something to send, smooth weighted
-- round robin: each gains its weight, the richest sends and pays what all have gained, so that every lane sends within as
-- many turns as the weights add up to. What the lanes have stands in the site's field `credit`.

local LANES = {'list', 'post', 'comment', 'backfill'}
local LOW = 2  -- highest priority of backfill

local function lane_of(stage, level) return tonumber(level) <= LOW and 'backfill' or stage end

local function lane_keys(site, stage, lane)
  local keys = {}
  for level in string.gmatch(site.levels[stage], '%d') do
    if not lane or lane_of(stage, level) == lane then keys[#keys + 1] = ready_key(site, stage, level) end
  end
  return keys
end

-- How many requests are ready: by stage, and by the name of each list.
local function count_ready(site)
  local ready = {}
  for _, stage in ipairs(STAGES) do
    ready[stage] = 0
    for _, key in ipairs(ready_keys(site, stage)) do
      ready[key] = redis.call('LLEN', key)
      ready[stage] = ready[stage] + ready[key]
    end
  end
  return ready
end

-- How many requests wait in each lane, as far as their stages have places on the queue.
local function count_waiting(site, places, ready)
  local waiting = {list = 0, post = 0, comment = 0, backfill = 0}
  for _, stage in ipairs(STAGES) do
    for level in string.gmatch(site.levels[stage], '%d') do
      if places[stage] > 0 then
        local lane = lane_of(stage, level)
        waiting[lane] = waiting[lane] + math.min(places[stage], ready[ready_key(site, stage, level)])
      end
    end
  end
  return waiting
end

local function numbers_in(text)
  local numbers = {}
  for number in string.gmatch(text or '', '-?%d+') do numbers[#numbers + 1] = tonumber(number) end
  return numbers
end

-- Divide `most` turns among the lanes.
local function share_turns(site, waiting, most)
  local turns, lanes = {}, {}
  for i, lane in ipairs(LANES) do
    turns[lane] = 0
    if waiting[lane] > 0 then lanes[#lanes + 1] = i end
  end
  if #lanes == 1 then turns[LANES[lanes[1]]] = math.min(most, waiting[LANES[lanes[1]]]) end
  if #lanes <= 1 then return turns end
  local weights, credit = numbers_in(site.weights), numbers_in(site.credit)
  for _ = 1, most do
    local best, gained = nil, 0
    for _, i in ipairs(lanes) do
      if waiting[LANES[i]] > turns[LANES[i]] then
        credit[i], gained = (credit[i] or 0) + (weights[i] or 1), gained + (weights[i] or 1)
        if not best or credit[i] > credit[best] then best = i end
      end
    end
    if not best then break end
    credit[best] = credit[best] - gained
    turns[LANES[best]] = turns[LANES[best]] + 1
  end
  local left_over = string.format('%d %d %d %d', credit[1] or 0, credit[2] or 0, credit[3] or 0, credit[4] or 0)
  if left_over ~= site.credit then redis.call('HSET', site.key, 'credit', left_over) end
  site.credit = left_over
  return turns
end
