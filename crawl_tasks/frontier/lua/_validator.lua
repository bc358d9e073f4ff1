-- Shared by every script, behind _release.lua: what a board's first page is known by to its server (ETag, Last-Modified), so
-- that the next scan can ask whether the page changed. Defines functions, changes nothing.
--
-- `validator` of a board is "<site version> <when the page was had whole, ms> <scans since> <text>". A server that calls
-- a page unchanged which has changed would blind us: so the page is had whole now and then, and where it brings news
-- under the text it had before, text is '-', and the board is asked so no more until its site file is another.

local MOST_SCANS, MOST_AGE = 10, 86400000

local function read_validator(said) return string.match(said or '', '^(%S+) (%d+) (%d+) (.*)$') end

-- The board whose current scan a list request begins, and its fields: nil for pages asked for otherwise.
local function board_of_scan(site, stage, payload)
  if stage ~= 'list' then return nil end
  local said = cjson.decode(payload)
  if said[2] ~= 1 then return nil end
  local key = board_key(site, said[1])
  local v = redis.call('HMGET', key, 'scan', 'validator', 'slack')
  if v[1] ~= said[3] then return nil end
  return key, v[2], tonumber(v[3] or 0)
end

-- What a scan's first request may ask by; '' where the page is wanted whole: after a failure, by rules that did not read
-- it, when the walk must go on beyond it, as a probe, and where the guard forgets posts that the page still shows.
local function find_validator(site, stage, payload, attempt, now)
  local key, known, slack = board_of_scan(site, stage, payload)
  local version, at, scans, text = read_validator(known)
  local guard = stage_letter(site.guard, 'post')
  if version ~= site.version or text == '-' or attempt > 1 or slack > 0 or site.shut.list or guard == 'r' or guard == 'o'
    or tonumber(scans) >= MOST_SCANS or now - at > MOST_AGE then return '' end
  return text
end

-- Remember what a page that was had whole is known by: `said` is "<site version> <text>", or ''.
local function keep_validator(site, stage, payload, said, now)
  local key, known = board_of_scan(site, stage, payload)
  if not key then return end
  local version, text = string.match(said, '^(%S+) (.*)$')
  local known_version, _, _, known_text = read_validator(known)
  if known_version == site.version and known_text == '-' then return end
  if not version then
    if known then redis.call('HDEL', key, 'validator') end
    return
  end
  if known_version == version and known_text == text and site.news > 0 then
    text = '-'
    tally(site, 'wrong_validators', 1)
  end
  redis.call('HSET', key, 'validator', version .. ' ' .. string.format('%.0f', now) .. ' 0 ' .. text)
end

-- Count a scan whose page had not changed.
local function count_unchanged(site, stage, payload)
  local key, known = board_of_scan(site, stage, payload)
  local version, at, scans, text = read_validator(known)
  if text then redis.call('HSET', key, 'validator', table.concat({version, at, scans + 1, text}, ' ')) end
end
