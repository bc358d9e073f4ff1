-- Fair share, the division of a site's releases among its lanes. A lane is a stage, or `backfill`: all requests of low
-- priority, whatever their stage. Lanes with ready requests share by smooth weighted round robin (as in nginx): each
-- lane gains its weight, the richest one sends a request and pays the sum of the gains. So every lane sends within as
-- many requests as the weights add up to. The field `credit` of the site holds the balances between calls.
-- INCLUDES: lib/site
-- EXPORTS: lane_keys count_ready count_waiting divide_among_lanes

local LANES = {'list', 'post', 'comment', 'backfill'}

local function lane_of(stage, level) return tonumber(level) <= BACKFILL and 'backfill' or stage end

function lane_keys(site, stage, lane)
  local keys = {}
  for level in string.gmatch(site.levels[stage], '%d') do
    if not lane or lane_of(stage, level) == lane then keys[#keys + 1] = ready_key(site, stage, level) end
  end
  return keys
end

-- Count the ready requests: all, those of backfill, and by kind (`backfill`, or `news` for the other lanes) and stage.
function count_ready(site)
  local ready = {all = 0, all_backfill = 0, news = {}, backfill = {}}
  for _, stage in ipairs(STAGES) do
    ready.news[stage], ready.backfill[stage] = 0, 0
    for level in string.gmatch(site.levels[stage], '%d') do
      local of = tonumber(level) <= BACKFILL and ready.backfill or ready.news
      local n = redis.call('LLEN', ready_key(site, stage, level))
      of[stage], ready.all = of[stage] + n, ready.all + n
    end
    ready.all_backfill = ready.all_backfill + ready.backfill[stage]
  end
  return ready
end

-- Count the waiting requests of each lane, as far as their stages have places on the queue.
function count_waiting(places, ready)
  local waiting = {backfill = 0}
  for _, stage in ipairs(STAGES) do
    waiting[stage] = math.min(math.max(0, places.news[stage]), ready.news[stage])
    waiting.backfill = waiting.backfill + math.min(math.max(0, places.backfill[stage]), ready.backfill[stage])
  end
  return waiting
end

-- Divide `most` requests among the lanes. A lane without waiting requests gains nothing, or it would send them in a
-- burst.
function divide_among_lanes(site, waiting, most)
  local quota, lanes = {}, {}
  for i, lane in ipairs(LANES) do
    quota[lane] = 0
    if waiting[lane] > 0 then lanes[#lanes + 1] = i end
  end
  if #lanes == 1 then quota[LANES[lanes[1]]] = math.min(most, waiting[LANES[lanes[1]]]) end
  if #lanes <= 1 then return quota end
  local weights, credit = numbers_in(site.terms.weights), numbers_in(site.credit)
  for _ = 1, most do
    local best, gained = nil, 0
    for _, i in ipairs(lanes) do
      if waiting[LANES[i]] > quota[LANES[i]] then
        credit[i], gained = (credit[i] or 0) + (weights[i] or 1), gained + (weights[i] or 1)
        if not best or credit[i] > credit[best] then best = i end
      end
    end
    if not best then break end
    credit[best] = credit[best] - gained
    quota[LANES[best]] = quota[LANES[best]] + 1
  end
  local left_over = string.format('%d %d %d %d', credit[1] or 0, credit[2] or 0, credit[3] or 0, credit[4] or 0)
  if left_over ~= site.credit then redis.call('HSET', site.key, 'credit', left_over) end
  site.credit = left_over
  return quota
end
