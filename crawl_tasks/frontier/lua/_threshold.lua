-- Shared by every script, behind _shares.lua: a site's backlog is held to its threshold and one page's children. Changes
-- only the field `brood` of the site.
--
-- A page in flight may bring as many children as any page of its stage ever did: `brood`, a number for each of STAGES,
-- EXPECTED at least. `growth` is what that adds to the backlog, which the page itself leaves; `load` is the backlog with
-- the growth of all that is in flight. A page goes when its growth, and that of one page of each deeper stage, fit below
-- `top`: the threshold and the greatest growth there is. So what a list page brings can always be worked off, thread by
-- thread. A page that does not grow the backlog, as a comment page that leads to the next one, always goes.

local EXPECTED = {list = 30, post = 1, comment = 1}

local function note_brood(site, stage, children)
  if children <= EXPECTED[stage] then return end
  local brood = numbers_in(site.brood)
  for i = 1, #STAGES do brood[i] = brood[i] or 0 end
  if children <= brood[STAGE_AT[stage]] then return end
  brood[STAGE_AT[stage]] = children
  site.brood = table.concat(brood, ' ')
  redis.call('HSET', site.key, 'brood', site.brood)
end

-- Growth of a page by stage; of one page of each stage from this one on; the greatest growth there is.
local function growths(site)
  local brood, growth, path, deeper, greatest = numbers_in(site.brood), {}, {}, 0, 0
  for i = #STAGES, 1, -1 do
    local stage = STAGES[i]
    growth[stage] = math.max(brood[i] or 0, EXPECTED[stage]) - 1
    deeper, greatest = deeper + growth[stage], math.max(greatest, growth[stage])
    path[stage] = deeper
  end
  return growth, path, greatest
end

-- What is in flight may bring: by stage, and in all.
local function growth_in_flight(site, growth)
  local flight, sum = {}, 0
  for _, stage in ipairs(STAGES) do flight[stage] = growth[stage] * redis.call('ZCARD', site.key .. ':released:' .. stage) end
  local rids = redis.call('ZRANGE', site.key .. ':leased', 0, -1)  -- bounded by the window, 256 at most
  for _, held in ipairs(#rids > 0 and redis.call('HMGET', site.key .. ':open', unpack(rids)) or {}) do
    local stage = string.match(held or '', '^%d+ (%a+)')
    if stage then flight[stage] = flight[stage] + growth[stage] end
  end
  for _, stage in ipairs(STAGES) do sum = sum + flight[stage] end
  return flight, sum
end

-- How many requests may still be entered from outside below a threshold, the site's own if none is named: so many that
-- a list page will fit when all else has ended, and that what is in flight, and a post, fit now.
local function room_for(site, threshold)
  local growth, path, greatest = growths(site)
  local open, _, flight = backlog(site), growth_in_flight(site, growth)
  local top = (threshold or site.max_backlog) + greatest
  local room = top - open - math.max(path.list, flight + path.post)
  return open == 0 and math.max(room, 1) or room
end

-- What a release must heed; nil far below the threshold, where all that could be in flight fits.
local function weigh(site, waiting, in_flight, room)
  local threshold = site.max_backlog or 0
  if threshold <= 0 then return nil end
  local growth, path, greatest = growths(site)
  local open = waiting + in_flight + redis.call('ZCARD', site.key .. ':delayed')
  if open + (in_flight + room) * greatest + path.list <= threshold + greatest then return nil end
  local flight, sum = growth_in_flight(site, growth)
  return {growth = growth, path = path, greatest = greatest, waiting = waiting, flight = flight, load = open + sum,
    top = threshold + greatest}
end

-- How many pages of a stage may go.
local function fits(weight, stage)
  local growth = weight.growth[stage]
  if growth == 0 then return CHUNK end
  return math.max(0, math.floor((weight.top - weight.load - weight.path[stage]) / growth) + 1)
end

-- Where nothing that is ready fits, nor would when all else had ended, the backlog was filled by hand or by list pages
-- alone: then the deepest stage goes, as far as its pages in flight bring no more together than one page may.
local function go_deepest(weight, stage, places)
  local flight = 0
  for i = STAGE_AT[stage], #STAGES do flight = flight + weight.flight[STAGES[i]] end
  return math.min(places, math.floor((weight.greatest - flight) / weight.growth[stage]))
end

-- Take away places of stages whose pages do not fit; give the weight to go on with, nil when it is done with.
local function hold_back(weight, places, ready)
  local deepest, goes, had = nil, false, {}
  for _, stage in ipairs(STAGES) do
    had[stage], places[stage] = places[stage], math.min(places[stage], fits(weight, stage))
    if ready[stage] > 0 then deepest, goes = stage, goes or places[stage] > 0 end
  end
  if goes or not deepest or had[deepest] <= 0 then return weight end
  local path = weight.path[deepest]
  local never_fits = path >= weight.top  -- a threshold below one page's children: then nothing else may be open
  if weight.waiting + path <= weight.top or (never_fits and weight.load > weight.waiting) then return weight end
  places[deepest] = go_deepest(weight, deepest, had[deepest])
  return nil
end

-- Note that pages of a stage go.
local function note_sent(weight, places, stage, sent)
  places[stage] = places[stage] - sent
  if not weight then return end
  weight.load = weight.load + weight.growth[stage] * sent
  for _, other in ipairs(STAGES) do places[other] = math.min(places[other], fits(weight, other)) end
end
