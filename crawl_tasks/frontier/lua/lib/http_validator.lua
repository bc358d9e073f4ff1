-- HTTP validators (ETag and Last-Modified, RFC 9110 section 8.8) of a board's first page, for conditional requests by
-- the next scan.
--
-- `validator` of a board is "<site version> <time of the last whole page, ms> <scans since> <text>". A server that
-- answers 304 for a changed page would blind us. So a scan requests the whole page now and then. Where that page brings
-- news under the same validator, text becomes '-', and the board gets no conditional request until the next version of
-- its site file.
-- INCLUDES: lib/site lib/admission
-- EXPORTS: find_validator keep_validator count_unchanged

-- Scans, and ms, after which a whole page is requested.
local MOST_SCANS, MOST_AGE = 10, 86400000

local function read_validator(said) return string.match(said or '', '^(%S+) (%d+) (%d+) (.*)$') end

-- Return the board whose current scan a list request begins, its validator, and whether a walk is due. Nil for other
-- requests.
local function board_of_scan(site, payload)
  local said = cjson.decode(payload)
  if said[2] ~= 1 then return nil end
  local key = board_key(site, said[1])
  local v = redis.call('HMGET', key, 'scan', 'validator', 'walk')
  if v[1] ~= said[3] then return nil end
  return key, v[2], tonumber(v[3] or 0) > 1
end

-- Return the validator for a scan's first request, or '' where the whole page is wanted: after a failure, under rules
-- that have not read the page, when the walk must go on beyond it, as a probe, and where the guard forgets listed
-- posts.
function find_validator(site, payload, attempt, now)
  local _, known, is_walk_due = board_of_scan(site, payload)
  local version, at, scans, text = read_validator(known)
  local guard = site.terms.guard.post
  if version ~= site.version or text == '-' or attempt > 1 or is_walk_due or site.open_breakers.list
      or guard == 'rolling' or guard == 'off' or tonumber(scans) >= MOST_SCANS or now - at > MOST_AGE then
    return ''
  end
  return text
end

-- Remember the validator of a whole page: `said` is "<site version> <text>", or '' for none.
function keep_validator(site, payload, said, now)
  local key, known = board_of_scan(site, payload)
  if not key then return end
  local version, text = string.match(said, '^(%S+) (.*)$')
  local known_version, _, _, known_text = read_validator(known)
  if known_version == site.version and known_text == '-' then return end
  if not version then
    if known then redis.call('HDEL', key, 'validator') end
    return
  end
  if known_version == version and known_text == text and site.page.news > 0 then
    text = '-'
    tally(site, 'wrong_validators', 1)
  end
  redis.call('HSET', key, 'validator', version .. ' ' .. string.format('%.0f', now) .. ' 0 ' .. text)
end

-- Count a scan whose page had not changed.
function count_unchanged(site, payload)
  local key, known = board_of_scan(site, payload)
  local version, at, scans, text = read_validator(known)
  if text then redis.call('HSET', key, 'validator', table.concat({version, at, scans + 1, text}, ' ')) end
end
