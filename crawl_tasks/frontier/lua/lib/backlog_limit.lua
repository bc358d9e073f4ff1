-- Shared by every script, behind fair_share.lua: the backlog limit. A site's open requests stay below `max_backlog` plus the
-- children of one page. Changes only the field `brood` of the site.
--
-- `brood` is the greatest number of children that a page of a stage ever had, one number for each of STAGES, and counts as
-- EXPECTED at least. A page in flight may bring as many. `growth` is one less, as the page itself leaves the backlog.
-- `load` is the backlog plus the growth of all pages in flight. A page goes when its growth, and that of one page of each
-- deeper stage, fit below `top`, which is `max_backlog` plus the greatest growth of a stage. So the children of a list page
-- can always be worked off, thread by thread. A page without growth, as a comment page with one next page, always goes.
-- EXPORTS: note_children room_for find_limit hold_back note_sent

-- Children of a page before a page has had more: rows of a list page, the first comment page, the next comment page.
local EXPECTED = {list = 30, post = 1, comment = 1}

-- Remember the greatest number of children that a page of a stage had.
function note_children(site, stage, children)
  if children <= EXPECTED[stage] then return end
  local most = numbers_in(site.max_children)
  for i = 1, #STAGES do most[i] = most[i] or 0 end
  if children <= most[STAGE_AT[stage]] then return end
  most[STAGE_AT[stage]] = children
  site.max_children = table.concat(most, ' ')
  redis.call('HSET', site.key, 'brood', site.max_children)
end

-- Return the growth of a page by stage, that of one page of each stage from a stage on, and the greatest growth.
local function growths(site)
  local most, growth, path, deeper, greatest = numbers_in(site.max_children), {}, {}, 0, 0
  for i = #STAGES, 1, -1 do
    local stage = STAGES[i]
    growth[stage] = math.max(most[i] or 0, EXPECTED[stage]) - 1
    deeper, greatest = deeper + growth[stage], math.max(greatest, growth[stage])
    path[stage] = deeper
  end
  return growth, path, greatest
end

-- Return the growth of all pages in flight: by stage, and in all.
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

-- Return how many requests may still come from outside, below a limit or the site's own `max_backlog`. Two things must fit:
-- a list page when all else has ended, and the growth of all pages in flight plus that of a post now.
function room_for(site, max_backlog)
  local growth, path, greatest = growths(site)
  local open, _, flight = backlog(site), growth_in_flight(site, growth)
  local top = (max_backlog or site.max_backlog) + greatest
  local room = top - open - math.max(path.list, flight + path.post)
  return open == 0 and math.max(room, 1) or room
end

-- Return the limit that a release must keep, or nil far below `max_backlog`, where any release fits uncounted.
function find_limit(site, waiting, in_flight, room)
  local max_backlog = site.max_backlog or 0
  if max_backlog <= 0 then return nil end
  local growth, path, greatest = growths(site)
  local open = waiting + in_flight + redis.call('ZCARD', site.key .. ':delayed')
  if open + (in_flight + room) * greatest + path.list <= max_backlog + greatest then return nil end
  local flight, sum = growth_in_flight(site, growth)
  return {growth = growth, path = path, greatest = greatest, waiting = waiting, flight = flight, load = open + sum,
    top = max_backlog + greatest}
end

-- Return how many pages of a stage may go.
local function fits(limit, stage)
  local growth = limit.growth[stage]
  if growth == 0 then return CHUNK end
  return math.max(0, math.floor((limit.top - limit.load - limit.path[stage]) / growth) + 1)
end

-- Return how many pages of the deepest stage go although they do not fit. Where no ready page fits, nor would when all else
-- had ended, a person or list pages alone filled the backlog, and the site would stand still for ever. The pages in flight
-- may then bring no more together than one page may.
local function go_deepest(limit, stage, places)
  local flight = 0
  for i = STAGE_AT[stage], #STAGES do flight = flight + limit.flight[STAGES[i]] end
  return math.min(places, math.floor((limit.greatest - flight) / limit.growth[stage]))
end

-- Take places away from stages whose pages do not fit. Return the limit for the rest of the release, nil for none.
function hold_back(limit, places, ready)
  local deepest, goes, had = nil, false, {}
  for _, stage in ipairs(STAGES) do
    had[stage], places[stage] = places[stage], math.min(places[stage], fits(limit, stage))
    if ready[stage] > 0 then deepest, goes = stage, goes or places[stage] > 0 end
  end
  if goes or not deepest or had[deepest] <= 0 then return limit end
  local path = limit.path[deepest]
  local never_fits = path >= limit.top  -- a limit below one page's children: then nothing else may be open
  if limit.waiting + path <= limit.top or (never_fits and limit.load > limit.waiting) then return limit end
  places[deepest] = go_deepest(limit, deepest, had[deepest])
  return nil
end

-- Count pages that go against the limit and the places.
function note_sent(limit, places, stage, sent)
  places[stage] = places[stage] - sent
  if not limit then return end
  limit.load = limit.load + limit.growth[stage] * sent
  for _, other in ipairs(STAGES) do places[other] = math.min(places[other], fits(limit, other)) end
end
