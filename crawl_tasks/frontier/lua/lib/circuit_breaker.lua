-- The circuit breaker of a site's stage. Unreadable pages are parked, and too many of them open the breaker. An open
-- breaker stops the stage: nothing of it is released or leased. Now and then the breaker is half-open and lets one
-- probe go. A probe that is read well closes the breaker.
--
-- A site that refuses requests for now (429, 503, all gone, no robots.txt, no login) opens the breaker too. Then no
-- page is parked and no attempt is counted: refused pages stand behind the others of their list, and any answer to a
-- probe closes the breaker.
--
-- `breaker:STAGE` of the site stands while the breaker is open: "<since> <time of the next probe> <rid of the last
-- probe> <reason>". `results:STAGE` are the last results, newest last, 1 well and 0 not, from the first bad one on.
-- `tripped` are the tripped requests: those whose pages were bad, and which are parked. `refused:STAGE` are the rids of
-- the last pages that were refused together with their stage. One that is refused again while others are good is a bad
-- page.
--
-- `unread:STAGE` are parked pages that could not be read while others could. A closed breaker retries them one by one.
-- `retry:STAGE` of the site is "<time of the next retry> <wait in ms after a bad one> <rid of the last retry, or 0>".
-- INCLUDES: lib/site lib/admission
-- EXPORTS: retry_unread tripped_key probe_at plan_probe until_next_probe refusal_of is_probe unpark_tripped
-- EXPORTS: close_breaker was_refused_with_all remember_refused note_refusal note_answer note_bad_page believe_gone
-- EXPORTS: is_gone_with_all

local RESULTS, MOST_TRIPPED, MOST_REFUSED = 20, 500, 100
local MOST_WAITS = 4  -- times `probe_ms`, between two retries that fail
local NEXT_RETRY = 10000  -- ms between two retries that are read well
local FIRST_PROBE = 1000  -- ms until the first probe where good and bad pages alternate

function tripped_key(site, stage) return site.key .. ':tripped:' .. stage end

-- Return whether a page may be gone by its status: one that does not exist, a page that says so itself, or a thread
-- that is hidden. Of lists, the end of a walk has the last two as well.
local function may_be_gone(status, is_list)
  return WIRE.gone[status] or not is_list and (WIRE.page[status] or WIRE.denied[status])
end

local function unread_key(site, stage) return site.key .. ':unread:' .. stage end

-- Return the time of the next probe, or nil where the breaker is closed.
function probe_at(site, stage)
  local said = site.open_breakers[stage]
  return said and tonumber(string.match(said, '^%d+ (%d+)'))
end

-- Return the ms from a probe that goes now to the next one: as many as the breaker is open, so that their distance
-- doubles.
function until_next_probe(site, stage, now)
  local open_for = now - string.match(site.open_breakers[stage], '^%d+')
  return math.min(site.terms.probe_ms, math.max(FIRST_PROBE, open_for))
end

-- Set the time of the next probe, and the rid of one that goes now.
function plan_probe(site, stage, at, rid)
  local since, last, reason = string.match(site.open_breakers[stage], '^(%d+) %d+ (%d+) (.*)$')
  site.open_breakers[stage] = table.concat({since, string.format('%.0f', at), rid or last, reason}, ' ')
  redis.call('HSET', site.key, 'breaker:' .. stage, site.open_breakers[stage])
end

-- Return the reason why a stage is refused by the site, or nil.
function refusal_of(site, stage)
  local reason = site.open_breakers[stage] and string.match(site.open_breakers[stage], '^%d+ %d+ %d+ (.*)$')
  return WIRE.refuses[reason] and reason
end

function is_probe(site, stage, rid) return string.match(site.open_breakers[stage], '^%d+ %d+ (%d+)') == rid end

local function open_breaker(site, stage, now, at, reason)
  site.open_breakers[stage] = string.format('%.0f %.0f 0 %s', now, at, reason)
  redis.call('HSET', site.key, 'breaker:' .. stage, site.open_breakers[stage])
end

-- Make a parked request ready again, with no attempts counted, by `put` in front or behind. Return whether it was
-- parked.
local function unpark(site, rid, put)
  local text = redis.call('HGET', site.key .. ':parked', rid)
  if not text then return false end
  redis.call('HDEL', site.key .. ':parked', rid)
  local stage, level, request = string.match(string.match(text, '\n(.*)$'), WIRE.entry.stage_priority_request)
  put(site, WIRE.write_entry(rid, stage, level, 0, request))
  return true
end

-- Unpark the oldest tripped request, so that there is one for the next probe.
function unpark_tripped(site, stage)
  for _ = 1, MOST_TRIPPED do
    local rid = redis.call('LPOP', tripped_key(site, stage))
    if not rid then return false end
    if unpark(site, rid, return_ready) then return true end
  end
  return false
end

-- Close a breaker and make its tripped requests ready again, behind those that never had their turn: the same bad pages
-- in front would open it at once. Return their number.
function close_breaker(site, stage)
  local revived = 0
  for _, rid in ipairs(redis.call('LRANGE', tripped_key(site, stage), 0, -1)) do
    if unpark(site, rid, return_tried) then revived = revived + 1 end
  end
  redis.call('HDEL', site.key, 'breaker:' .. stage, 'results:' .. stage)
  redis.call('UNLINK', tripped_key(site, stage), site.key .. ':kept:' .. stage, site.key .. ':pages:' .. stage)
  site.open_breakers[stage] = false
  return revived
end

local function retry_of(site, stage)
  return string.match(redis.call('HGET', site.key, 'retry:' .. stage) or '', '^(%d+) (%d+) (%d+)$')
end

local function note_retry(site, stage, at, wait, rid)
  redis.call('HSET', site.key, 'retry:' .. stage, string.format('%.0f %.0f %s', at, wait, rid))
end

-- Retry an unread page when its time has come, while the breaker is closed: a forum may have shown a notice in the
-- place of too few pages to open it, and a board whose page is parked is not scanned. Return the time of the next look,
-- or nil. A page that no worker could parse is left to a person.
function retry_unread(site, stage, now)
  if site.open_breakers[stage] or site.paused then return nil end
  local key = tripped_key(site, stage)
  if redis.call('EXISTS', key) == 0 then key = unread_key(site, stage) end
  local rid = redis.call('LINDEX', key, 0)
  if not rid then return nil end
  local parked_at, reason = string.match(redis.call('HGET', site.key .. ':parked', rid) or '', '^(%d+) (%S+)')
  if not parked_at or reason == WIRE.reason.Hung then
    redis.call('LPOP', key)
    return now
  end
  local at, wait, last = retry_of(site, stage)
  at = math.max(at or 0, parked_at + site.terms.probe_ms)
  if at > now then return at end
  redis.call('LPOP', key)
  unpark(site, rid, return_ready)
  note_retry(site, stage, now + NEXT_RETRY, last == '0' and wait or site.terms.probe_ms, rid)
  return now + NEXT_RETRY
end

-- Close the breaker of a stage that the site refuses no more. Parked pages stay: they have another cause. All stages
-- have one login, so that the first one that is let in closes the breakers of the others: their own probes may be
-- minutes away.
local function end_refusal(site, stage)
  local reason = refusal_of(site, stage)
  local is_login = reason == WIRE.reason.LoginRefused
  if is_login then redis.call('HDEL', site.key, 'login') end
  for _, other in ipairs(is_login and STAGES or {stage}) do
    if refusal_of(site, other) == reason then
      redis.call('HDEL', site.key, 'breaker:' .. other)
      site.open_breakers[other] = false
    end
  end
end

-- A list was answered: where all pages were gone, the forum is there, and its listed threads are not. For as long as
-- between two probes they are believed, since each scan may ask for them again.
function believe_gone(site, now)
  for _, stage in ipairs(STAGES) do
    if refusal_of(site, stage) == WIRE.reason.AllGone then
      end_refusal(site, stage)
      redis.call('HSET', site.key, 'gone_believed', string.format('%.0f', now + site.terms.probe_ms))
    end
  end
end

-- Return whether an open page that a list shows is gone after nothing but such answers: then it is rather the forum
-- that is away, or closed, as `gone_when` may find a notice that is no thread's own. The last `breaker_after` attempts
-- must have said so, and for a board's later page, which ends a walk, the last one. A board that says so for as long as
-- between two probes is believed: only then is it scanned again.
function is_gone_with_all(site, held, status, now)
  if now < tonumber(redis.call('HGET', site.key, 'gone_believed') or 0) then return false end
  local stage, payload = string.match(held, WIRE.held.stage_payload)
  if not stage or not may_be_gone(status, stage == 'list') then return false end
  local _, page, revision = unpack(cjson.decode(payload))
  local is_board_doubted = stage == 'list' and refusal_of(site, stage) == WIRE.reason.AllGone
  if is_board_doubted and now > site.terms.probe_ms + string.match(site.open_breakers.list, '^%d+') then
    return false
  end
  if revision == '' then return false end
  local enough = stage == 'list' and page > 1 and 1 or site.terms.breaker_after
  local past = redis.call('LRANGE', site.key .. ':recent', 0, enough - 1)
  for _, text in ipairs(past) do
    local said, outcome = string.match(text, '^%d+ %a+ (%d+) %d+ (%S+)')
    local is_gone = outcome == 'gone' or outcome == WIRE.reason.AllGone
    if not is_gone or not may_be_gone(said) then return false end
  end
  return #past == enough
end

function was_refused_with_all(site, stage, rid)
  local rids = redis.call('HGET', site.key, 'refused:' .. stage) or ''
  return string.find(' ' .. rids .. ' ', ' ' .. rid .. ' ', 1, true) ~= nil
end

function remember_refused(site, stage, rid)
  if was_refused_with_all(site, stage, rid) then return end
  local rids = {rid}
  for other in string.gmatch(redis.call('HGET', site.key, 'refused:' .. stage) or '', '%d+') do
    if #rids < MOST_REFUSED then rids[#rids + 1] = other end
  end
  redis.call('HSET', site.key, 'refused:' .. stage, table.concat(rids, ' '))
end

-- Note a failed attempt at a stage that the site refuses, or refuses from now on. The probes go as long after each
-- other as the breaker is open, so that their distance doubles, up to `probe_ms`, and by `rest` ms at least where the
-- site named that.
function note_refusal(site, stage, rid, reason, now, rest, is_named)
  if not site.open_breakers[stage] then
    open_breaker(site, stage, now, now + rest, reason)
  elseif refusal_of(site, stage) and (is_probe(site, stage, rid) or is_named) then
    local open_for = now - string.match(site.open_breakers[stage], '^%d+')
    local longer = math.min(site.terms.probe_ms, math.max(rest, open_for))
    local at = now + (is_named and math.max(rest, longer) or longer)
    plan_probe(site, stage, is_probe(site, stage, rid) and at or math.max(at, probe_at(site, stage)))
  end
end

-- Note a page that the site answered. Only a probe closes an open breaker: good pages that were under way when it
-- opened would close it at once.
function note_answer(site, stage, rid, is_good)
  local field = 'results:' .. stage
  if site.open_breakers[stage] then
    if not is_probe(site, stage, rid) then return end
    if refusal_of(site, stage) then end_refusal(site, stage) elseif is_good then close_breaker(site, stage) end
    return
  end
  if not is_good then return end
  local past = site.results[stage]
  if not past then return end
  past = string.sub(past .. '1', -math.max(RESULTS, 2 * site.terms.breaker_after))
  if string.find(past, '0', 1, true) then
    redis.call('HSET', site.key, field, past)
  else
    redis.call('HDEL', site.key, field)
    repeat until not redis.call('LMOVE', tripped_key(site, stage), unread_key(site, stage), 'LEFT', 'RIGHT')
    redis.call('LTRIM', unread_key(site, stage), -MOST_TRIPPED, -1)
  end
end

-- Count a bad page, but for one that was retried while the breaker is closed. The breaker opens after `breaker_after`
-- in a row, or `breaker_percent` of the last RESULTS.
function note_bad_page(site, stage, rid, reason, now)
  if refusal_of(site, stage) then note_answer(site, stage, rid, false) end
  local _, wait, last = retry_of(site, stage)
  if last == rid and not site.open_breakers[stage] then
    wait = math.min(2 * wait, MOST_WAITS * site.terms.probe_ms)
    note_retry(site, stage, now + wait, wait, 0)
    redis.call('RPUSH', unread_key(site, stage), rid)
    return
  end
  redis.call('RPUSH', tripped_key(site, stage), rid)
  redis.call('LTRIM', tripped_key(site, stage), -MOST_TRIPPED, -1)
  if site.open_breakers[stage] then return end
  local field = 'results:' .. stage
  local past = (redis.call('HGET', site.key, field) or '') .. '0'
  past = string.sub(past, -math.max(RESULTS, 2 * site.terms.breaker_after))
  local _, bad = string.gsub(string.sub(past, -RESULTS), '0', '')
  -- Where good and bad pages alternate, it may be the pages and not the layout: twice as many in a row open the
  -- breaker, and the good ones must not wait for long.
  local alternate = string.find(past, '1', 1, true)
  local enough = alternate and 2 * site.terms.breaker_after or site.terms.breaker_after
  if #string.match(past, '0*$') < enough and bad * 100 < site.terms.breaker_percent * RESULTS then
    redis.call('HSET', site.key, field, past)
    return
  end
  redis.call('HDEL', site.key, field)
  local first_probe = alternate and math.min(site.terms.probe_ms, FIRST_PROBE) or site.terms.probe_ms
  open_breaker(site, stage, now, now + first_probe, reason)
end
