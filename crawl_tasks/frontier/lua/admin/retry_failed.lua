-- Make dead or parked requests ready again, with no attempts counted. One call looks at some thousands.
-- INCLUDES: lib/site lib/admission lib/circuit_breaker lib/release
-- KEYS 1: key prefix
-- ARGV 1: site
-- ARGV 2: dead or parked
-- ARGV 3: reason, or '' for any
-- ARGV 4: stage, or '' for any
-- ARGV 5: most requests to take
-- ARGV 6: cursor, 0 to begin
-- RETURNS 0: {0, revived, next cursor (0 at the end)}
-- RETURNS -1: the site is not published

local ENOUGH = 100  -- revived requests after which a call begins no further page

local site = load_site(ARGV[1])
if not site then return {-1, 0, 0} end
local now, most = now_ms(), tonumber(ARGV[5])
local key, revived, cursor, pages = site.key .. ':' .. ARGV[2], 0, ARGV[6], 0
repeat
  pages = pages + 1
  local page = redis.call('HSCAN', key, cursor, 'COUNT', 100)
  cursor = page[1]
  for i = 1, #page[2], 2 do
    local rid, reason, entry = page[2][i], string.match(page[2][i + 1], '^%d+ (%S*)[^\n]*\n(.*)$')
    local is_meant = (ARGV[3] == '' or reason == ARGV[3])
      and (ARGV[4] == '' or string.match(entry, WIRE.entry.stage) == ARGV[4])
    if revived < most and is_meant and redis.call('HDEL', key, rid) == 1 then
      revive(site, ARGV[2], rid, entry)
      revived = revived + 1
    end
  end
until cursor == '0' or revived >= math.min(most, ENOUGH) or pages >= MOST_LOOKS
for _, stage in ipairs(STAGES) do
  -- Who asks for a retry says that the pages can be read now: the probe that shows it goes at once.
  if site.open_breakers[stage] and (ARGV[4] == '' or ARGV[4] == stage) then plan_probe(site, stage, now) end
end
flush_admission(site)
schedule_look(site, now)
release(site, now)
return {0, revived, cursor}
