-- Make parked or dead requests ready again under another address, which a mended site file gives their pages.
-- INCLUDES: lib/site lib/admission lib/release
-- KEYS 1: key prefix
-- ARGV 1: site
-- ARGV 2: dead or parked
-- ARGV 3..: of each request its rid, the address that it has, and the new one
-- RETURNS 0: {0, made ready}
-- RETURNS -1: the site is not published

local site = load_site(ARGV[1])
if not site then return {-1, 0} end
local now, revived, key = now_ms(), 0, site.key .. ':' .. ARGV[2]
for i = 3, #ARGV, 3 do
  local rid = ARGV[i]
  local entry = string.match(redis.call('HGET', key, rid) or '', '\n(.*)$')
  local pattern = WIRE.entry.stage_priority_attempt_address_payload
  local stage, level, attempt, address, payload = string.match(entry or '', pattern)
  if address == ARGV[i + 1] then
    redis.call('HDEL', key, rid)
    revive(site, ARGV[2], rid, WIRE.write_entry(rid, stage, level, attempt, ARGV[i + 2] .. ' ' .. payload))
    revived = revived + 1
  end
end
flush_admission(site)
schedule_look(site, now)
release(site, now)
return {0, revived}
