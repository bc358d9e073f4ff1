-- Pages that tell of all boards, and what they may have missed.
--
-- `freshness` of a site holds "<list requests an hour> <goal in hours, 0 for none>", and behind them the boards that
-- tell of all boards. `news_at` is the time of the last look at one, `news_gap` of the last one that may have missed
-- something.
-- INCLUDES: lib/site lib/admission
-- EXPORTS: HOUR budget_of is_news note_news_gap note_scan_gap
-- SHARES: has_news may_hide_news check_news

HOUR = 3600000
local MOST_NEWS = 500
local FEW_ROWS = 5

function budget_of(site)
  local requests, goal = string.match(site.terms.freshness, '^(%S+) (%S+)')
  return tonumber(requests), tonumber(goal)
end

function has_news(site) return string.find(site.terms.freshness, '^%S+ %S+ ') ~= nil end

-- Return whether a board is a page of all news.
function is_news(site, id)
  local boards = string.match(site.terms.freshness, '^%S+ %S+( .*)$')
  return boards ~= nil and string.find(boards .. ' ', ' ' .. id .. ' ', 1, true) ~= nil
end

-- Note that a page of all news showed nothing known and leads to no further page: it may have missed what was posted
-- since its last look.
function note_news_gap(site, id, now)
  local page = site.page
  if is_news(site, id) and page.known == 0 and page.news > 0 and page.fresh == page.news then
    redis.call('HSET', site.key, 'news_gap', string.format('%.0f', now))
  end
end

-- Note that a page which leads to no older threads showed news alone: what stood between these and those of the last
-- look was never seen. A page with more rows than ever is not full yet, and one of a few may be all that there is.
-- Other guards than an exact one forget, or do not know.
-- `scan_gap` holds "<time of the last one, ms> <number within a day of another> <board>".
function note_scan_gap(site, id, rows, news, now)
  if site.terms.guard.post ~= 'exact' then return end
  local key, guard = board_key(site, id), tostring(site.flushes or 0)  -- behind a flush of the guard all rows are new
  local most, before = string.match(redis.call('HGET', key, 'most_rows') or '', '^(%d+) (%d+)$')
  most = before == guard and tonumber(most) or 0
  if rows > most then redis.call('HSET', key, 'most_rows', rows .. ' ' .. guard) end
  if rows < FEW_ROWS or rows > most or news < rows then return end
  local at, gaps = string.match(redis.call('HGET', site.key, 'scan_gap') or '', '^(%d+) (%d+)')
  gaps = at and now - at < 24 * HOUR and gaps or 0
  redis.call('HSET', site.key, 'scan_gap', string.format('%.0f %d %s', now, gaps + 1, id))
end

-- Return whether threads may stand behind rows of a board that are all known and of after its last scan, which showed
-- none where `last_seen` is 0. A page of all news may have told of the rows, and missed threads behind them if it had a
-- gap since then.
function may_hide_news(site)
  return not has_news(site) or site.page.last_seen * 1000 < tonumber(redis.call('HGET', site.key, 'news_gap') or 0)
end

-- Count lately found items, so that what was long ago counts for little.
local function tally_news(site, field)
  tally(site, 'news:' .. field, 1)
  local v = redis.call('HMGET', site.key .. ':stats', 'news:found', 'news:missed')
  local found, missed = tonumber(v[1] or 0), tonumber(v[2] or 0)
  if found + missed < MOST_NEWS then return end
  redis.call('HSET', site.key .. ':stats', 'news:found', math.floor(found / 2), 'news:missed', math.floor(missed / 2))
end

-- Count what the page of all news found, and what a board's scan found although that page had been read since it was
-- posted. Return whether that page is still to show an item: one that was posted since, while it is read as often as
-- the goal asks for.
function check_news(site, listed, posted, seen, now)
  if not has_news(site) then return false end
  if is_news(site, listed[1]) then
    tally_news(site, 'found')
    return false
  end
  if not seen.news_at then  -- the first scan of a board shows its past
    local is_first = redis.call('SISMEMBER', site.key .. ':unscanned', listed[1]) == 1
    seen.news_at = is_first and 0 or tonumber(redis.call('HGET', site.key, 'news_at') or 0)
    seen.ping = tonumber(redis.call('HGET', board_key(site, listed[1]), 'ping') or -1)
  end
  local unit = posted % 60 == 0 and 60 or 1  -- many forums show minutes
  if posted * 1000 <= seen.ping then
    tally_news(site, 'found')
    seen.pinged = (seen.pinged or 0) + 1
    return true
  end
  if posted > 0 and (posted + unit) * 1000 < seen.news_at then
    tally_news(site, 'missed')
    return false
  end
  local _, goal = budget_of(site)
  return posted > 0 and now - seen.news_at < goal * HOUR
end
