-- The last attempts of a site, and the question that each failure raises: is it the page or the site? A failure counts
-- against its page first. The site is slowed down, or a breaker opened, only when different pages fail and few others
-- are answered well. So one bad page costs itself.
--
-- `recent` holds the last attempts, newest first: "<time of its end> <stage> <status> <ms> <outcome> <address>", where
-- the outcome is the number of items, gone, unchanged or the reason of a failure. Only a failure reads it.
--
-- `failing` is "<time of the first failure since the last page that came> <their reasons, comma-separated>".
-- EXPORTS: note_recent note_no_page note_page is_strained is_refused_alone was_good_since

local FEW = 5  -- good answers beside a refused page that show a site in order
local BESIDE = 3  -- the same beside a page that failed otherwise
local MOST_BAD = 3  -- pages that fail beside another one, with fewer answers between them, before a site counts as down
local HANGS = 1000  -- ms after which other pages have had the time to be answered
local RECENT, SHOWN = 20, 200

-- Remember an attempt among the last of the site. The list is cut at twice its length: one command a page, not two.
function note_recent(site, now, entry, effort, outcome)
  local stage, address = string.match(entry, WIRE.entry.stage_address)
  local status, fetch = string.match(effort, '^(%d+) %d+ %d+ (%d+)')
  local said = {string.format('%.0f', now), stage, status or 0, fetch or 0, outcome, string.sub(address, 1, SHOWN)}
  local key = site.key .. ':recent'
  if redis.call('LPUSH', key, table.concat(said, ' ')) >= 2 * RECENT then redis.call('LTRIM', key, 0, RECENT - 1) end
end

-- Count an attempt that brought no page.
function note_no_page(site, reason, now)
  redis.call('HINCRBY', site.key, 'failed_in_a_row', 1)
  local text = site.failed_in_a_row and redis.call('HGET', site.key, 'failing') or string.format('%.0f ', now)
  local since, reasons = string.match(text, '^(%d+) (.*)$')
  if string.find(',' .. reasons .. ',', ',' .. reason .. ',', 1, true) then return end
  redis.call('HSET', site.key, 'failing', since .. ' ' .. (reasons == '' and reason or reasons .. ',' .. reason))
end

-- Note that a page came.
function note_page(site)
  if site.failed_in_a_row then redis.call('HDEL', site.key, 'failed_in_a_row', 'failing') end
end

-- Return the last attempts, newest first.
local function recent_attempts(site)
  local attempts = {}
  for i, text in ipairs(redis.call('LRANGE', site.key .. ':recent', 0, -1)) do
    local at, stage, status, ms, outcome, address = string.match(text, '^(%d+) (%a+) (%d+) (%d+) (%S+) (.*)$')
    attempts[i] = {at = tonumber(at), stage = stage, ms = tonumber(ms), outcome = outcome, address = address}
    attempts[i].is_good = string.match(outcome, '^%d+$') ~= nil or outcome == 'gone' or outcome == 'unchanged'
    attempts[i].is_answered = attempts[i].is_good or WIRE.page[status] and not WIRE.strains[outcome]
  end
  return attempts
end

-- Return whether an attempt hung, while pages that were asked for later were answered: it says nothing of the site.
local function hung_alone(site, attempts, attempt)
  if attempt.ms <= HANGS then return false end
  local began, later = attempt.at - attempt.ms, 0
  for _, other in ipairs(attempts) do
    if other.is_answered and other.ms <= site.terms.slow_ms and other.at - other.ms >= began then later = later + 1 end
  end
  return later >= BESIDE
end

-- Return whether the site is under strain, not the page alone: other pages failed a short while ago too, and fewer than
-- BESIDE answers came for each of them. A site that was in order is so when more than MOST_BAD pages fail, and fewer
-- were answered meanwhile, where the time of this attempt, `took` ms, counts as well.
function is_strained(site, address, now, took)
  local attempts, known, others, answers = recent_attempts(site), {[string.sub(address, 1, SHOWN)] = true}, 0, 0
  for _, attempt in ipairs(attempts) do
    if WIRE.strains[attempt.outcome] or (attempt.is_answered and attempt.ms > site.terms.slow_ms) then
      if not known[attempt.address] and not hung_alone(site, attempts, attempt) then
        known[attempt.address], others = true, others + 1
      end
    elseif attempt.is_answered then
      answers = answers + 1
    end
    if attempt.at <= now - took and others >= MOST_BAD and answers < others then return true end
  end
  return others > 0 and answers < BESIDE * others
end

-- Return whether a page is refused alone while its stage is in order, and whether it was refused before. A new page
-- says most: a stage with few good answers since another page was refused, or none since this page was, is refused as a
-- whole. A page that failed before (`is_known`) may be one of a few bad ones that are left over at the end of a crawl,
-- and says so only when `breaker_after` pages are refused in a row.
function is_refused_alone(site, stage, address, is_known)
  local own = string.sub(address, 1, SHOWN)
  local known, pages, good, was_refused = {[own] = true}, 1, 0, false
  for _, past in ipairs(recent_attempts(site)) do
    if past.stage == stage and WIRE.refuses[past.outcome] then
      was_refused = was_refused or past.address == own
      if not is_known then return good >= (past.address == own and 1 or FEW), was_refused end
      if not known[past.address] then known[past.address], pages = true, pages + 1 end
      if pages >= site.terms.breaker_after then return good >= FEW, was_refused end
    elseif past.stage == stage and past.is_answered then
      good = good + 1
    end
  end
  return is_known or good >= FEW, was_refused
end

-- Return whether another page than `address`, of another stage than `stage` where one is given, was good since a time.
function was_good_since(site, since, address, stage)
  for _, attempt in ipairs(recent_attempts(site)) do
    if attempt.at < since then return false end
    if attempt.is_good and attempt.address ~= string.sub(address, 1, SHOWN) and attempt.stage ~= stage then
      return true
    end
  end
  return false
end
