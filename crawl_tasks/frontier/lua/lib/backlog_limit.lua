-- The backlog limit. A site's open requests stay below `max_backlog` plus the children of one page. Changes only the
-- field `max_children` of the site.
--
-- `max_children` is the greatest number of children that a page of a stage ever had, one number for each of STAGES, and
-- counts as EXPECTED at least. A page in flight may bring as many. `growth` is one less, as the page itself leaves the
-- backlog. `load` is the backlog plus the growth of all pages in flight. A page goes when its growth, and that of one
-- page of each deeper stage, fit below `top`, which is `max_backlog` plus the greatest growth of a stage. So the
-- children of a list page can always be worked off, thread by thread. A page without growth, as a comment page with one
-- next page, always goes.
--
-- Backfill fills half of `max_backlog` at most, so that a first crawl of any size never stops the scans. Where it fills
-- more, after a recovery or by hand, the rest does not count for the other lanes.
-- INCLUDES: lib/site lib/admission lib/fair_share
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
  redis.call('HSET', site.key, 'max_children', site.max_children)
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
  for _, stage in ipairs(STAGES) do
    flight[stage] = growth[stage] * redis.call('ZCARD', site.key .. ':released:' .. stage)
  end
  local rids = redis.call('ZRANGE', site.key .. ':leased', 0, -1)  -- bounded by the window, 256 at most
  for _, held in ipairs(#rids > 0 and redis.call('HMGET', site.key .. ':open', unpack(rids)) or {}) do
    local stage = string.match(held or '', WIRE.held.stage)
    if stage then flight[stage] = flight[stage] + growth[stage] end
  end
  for _, stage in ipairs(STAGES) do sum = sum + flight[stage] end
  return flight, sum
end

-- Return the tops of the two kinds of lanes, for all that is open. Backfill that waits beyond the limit, as a recovery
-- may leave it, counts for the other lanes as if it filled its own part.
local function find_tops(max_backlog, path, greatest, waiting_backfill)
  local half, top = math.floor(max_backlog / 2), max_backlog + greatest
  -- A part below one page's children would hold all back.
  local own = (half >= path.list and half or max_backlog) + greatest
  return {backfill = own, news = top + (waiting_backfill > top and waiting_backfill - own or 0)}
end

-- Return how many requests may still come from outside, below a limit or the site's own `max_backlog`: of all lanes,
-- and of backfill. Two things must fit: a list page when all else has ended, and the growth of all pages in flight plus
-- that of a post now.
function room_for(site, max_backlog)
  local growth, path, greatest = growths(site)
  local open, _, flight = backlog(site), growth_in_flight(site, growth)
  local tops = find_tops(max_backlog or site.terms.max_backlog, path, greatest, count_ready(site).all_backfill)
  local taken, least = open + math.max(path.list, flight + path.post), open == 0 and 1 or -math.huge
  return math.max(least, tops.news - taken), math.max(least, tops.backfill - taken)
end

-- Return the limit that a release must keep, or nil far below `max_backlog`, where any release fits uncounted.
function find_limit(site, ready, in_flight, room)
  local max_backlog = site.terms.max_backlog
  if max_backlog <= 0 then return nil end
  local growth, path, greatest = growths(site)
  local open = ready.all + in_flight + redis.call('ZCARD', site.key .. ':delayed')
  local tops = find_tops(max_backlog, path, greatest, ready.all_backfill)
  if open + (in_flight + room) * greatest + path.list <= tops.backfill then return nil end
  local flight, sum = growth_in_flight(site, growth)
  return {growth = growth, path = path, greatest = greatest, flight = flight, load = open + sum, tops = tops,
    waiting = ready.all, backfill = ready.all_backfill}
end

-- Return how many pages of a stage may go, of backfill or of another lane (`news`).
local function fits(limit, kind, stage)
  local growth = limit.growth[stage]
  if growth == 0 then return CHUNK end
  return math.max(0, math.floor((limit.tops[kind] - limit.load - limit.path[stage]) / growth) + 1)
end

-- Return how many pages of the deepest stage go although they do not fit. Where no ready page fits, nor would when all
-- else had ended, a person or list pages alone filled the backlog, and the site would stand still for ever. The pages
-- in flight may then bring no more together than one page may.
local function go_deepest(limit, stage, places)
  local flight = 0
  for i = STAGE_AT[stage], #STAGES do flight = flight + limit.flight[STAGES[i]] end
  return math.min(places, math.floor((limit.greatest - flight) / limit.growth[stage]))
end

-- Take places away from the stages whose pages do not fit, in the lanes of a kind. Return whether a ready page goes,
-- and the deepest stage with ready pages.
local function hold_back_kind(limit, kind, places, ready)
  local deepest, goes = nil, false
  for _, stage in ipairs(STAGES) do
    places[stage] = math.min(places[stage], fits(limit, kind, stage))
    if ready[kind][stage] > 0 then deepest, goes = stage, goes or places[stage] > 0 end
  end
  return goes, deepest
end

-- Return how many pages of backfill go that do not fit below its own top, nor would when all else had ended: as many as
-- fit below the common one or, of more than ever fits, as many as together bring no more than one page may.
local function free_backfill(limit, stage, places)
  if limit.backfill + limit.path[stage] <= limit.tops.backfill then return 0 end
  local fit = math.min(places, fits(limit, 'news', stage))
  if fit > 0 or limit.backfill <= limit.tops.backfill then return fit end
  return math.max(0, go_deepest(limit, stage, places))
end

-- Take places away from pages that do not fit. `places` and `ready` hold numbers by kind and stage. Return the limit
-- for the rest of the release, nil for none.
function hold_back(limit, places, ready)
  local had = {news = {}, backfill = {}}
  for kind, of in pairs(had) do
    for _, stage in ipairs(STAGES) do of[stage] = places[kind][stage] end
  end
  local goes, news = hold_back_kind(limit, 'news', places.news, ready)
  local backfill_goes, backfill = hold_back_kind(limit, 'backfill', places.backfill, ready)
  if backfill and not backfill_goes then
    places.backfill[backfill] = free_backfill(limit, backfill, had.backfill[backfill])
    backfill_goes = places.backfill[backfill] > 0
  end
  if goes or backfill_goes or not (news or backfill) then return limit end
  local is_news = news and (not backfill or STAGE_AT[news] >= STAGE_AT[backfill])
  local kind, deepest = is_news and 'news' or 'backfill', is_news and news or backfill
  if had[kind][deepest] <= 0 then return limit end
  local path, top = limit.path[deepest], limit.tops.news
  local never_fits = path >= top  -- a limit below one page's children: then nothing else may be open
  if limit.waiting + path <= top or (never_fits and limit.load > limit.waiting) then return limit end
  places[kind][deepest] = go_deepest(limit, deepest, had[kind][deepest])
  return nil
end

-- Count pages that go against the limit and the places.
function note_sent(limit, places, stage, sent)
  for _, of in pairs(places) do of[stage] = of[stage] - sent end
  if not limit or sent == 0 then return end
  limit.load = limit.load + limit.growth[stage] * sent
  for name, of in pairs(places) do
    for _, other in ipairs(STAGES) do of[other] = math.min(of[other], fits(limit, name, other)) end
  end
end
