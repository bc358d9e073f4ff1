-- Drop dead or parked requests for good: each counts as done, and as dropped. The outbox tells the database.
-- INCLUDES: lib/site lib/release
-- FLAGS: allow-oom
-- KEYS 1: key prefix
-- ARGV 1: site
-- ARGV 2: dead or parked
-- ARGV 3: reason, or '' for any
-- ARGV 4: stage, or '' for any
-- ARGV 5: most requests to take
-- ARGV 6: cursor, 0 to begin. One call looks at some thousands
-- RETURNS 0: {0, dropped, next cursor (0 at the end)}
-- RETURNS -1: the site is not published

local ENOUGH = 50  -- dropped requests after which a call begins no further page

local site = load_site(ARGV[1])
if not site then return {-1, 0, 0} end
local now, most = now_ms(), tonumber(ARGV[5])
local key, dropped, cursor, pages = site.key .. ':' .. ARGV[2], 0, ARGV[6], 0

local function drop(rid, entry)
  redis.call('HDEL', key, rid)
  drop_request(site, entry, ARGV[2] == 'parked', now)
  dropped = dropped + 1
end

repeat
  pages = pages + 1
  local page = redis.call('HSCAN', key, cursor, 'COUNT', 50)
  cursor = page[1]
  for i = 1, #page[2], 2 do
    local reason, entry = string.match(page[2][i + 1], '^%d+ (%S*)[^\n]*\n(.*)$')
    local stage = string.match(entry, WIRE.entry.stage)
    local is_meant = (ARGV[3] == '' or reason == ARGV[3]) and (ARGV[4] == '' or stage == ARGV[4])
    if dropped < most and is_meant and redis.call('HEXISTS', key, page[2][i]) == 1 then drop(page[2][i], entry) end
  end
until cursor == '0' or dropped >= math.min(most, ENOUGH) or pages >= MOST_LOOKS
note_change(site)
return {0, dropped, cursor}
