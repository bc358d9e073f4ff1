-- Pass requests through the guard and enter the new ones into the ledger. Release the requests that the gate allows.
-- INCLUDES: lib/site lib/admission lib/backlog_limit lib/release
-- KEYS 1: key prefix
-- KEYS 2: name of the call, as answers.lua reads it
-- ARGV 1: site
-- ARGV 2: backlog limit, the most requests that may be open afterwards: 0 for none, -1 for the site's own
-- ARGV 3: ms that the new ones wait before they are ready
-- ARGV 4..: lines
-- RETURNS 0: {0, new, known, left over because of the backlog limit}
-- RETURNS -1: the site is not published

local site = load_site(ARGV[1])
if not site then return {-1, 0, 0, 0} end
local now, limit = now_ms(), tonumber(ARGV[2])
local room, backfill_room = math.huge, math.huge
if limit ~= 0 then room, backfill_room = room_for(site, limit > 0 and limit or nil) end
local over = 0
site.page.wait = tonumber(ARGV[3])
for i = 4, #ARGV do
  local level = tonumber(string.match(ARGV[i], WIRE.line.priority))
  if site.page.fresh >= (level <= BACKFILL and backfill_room or room) then
    over = #ARGV - i + 1
    break
  end
  admit_line(site, ARGV[i], now)
end
flush_admission(site)
release(site, now)
if site.page.fresh > 0 then schedule_look(site, now + 1000) end
return {0, site.page.fresh, site.page.known, over}
