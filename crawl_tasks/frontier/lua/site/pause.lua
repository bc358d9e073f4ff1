-- Pause, drain or resume a site, by an operator's decision. A paused site keeps its requests and leases none, and pages
-- that are being fetched end. A draining site begins no scan, and finishes its open requests.
-- INCLUDES: lib/site lib/decisions lib/release
-- FLAGS: allow-oom
-- KEYS 1: key prefix
-- ARGV 1: site
-- ARGV 2: run, pause or drain, or '' for the last decision, which a recovery restores
-- ARGV 3: who decided
-- ARGV 4: why
-- ARGV 5: '' to decide, else the cursor with which the boards that the pause put off are made due, some at a time
-- RETURNS 0: {0, released, next cursor (0 at the end)}
-- RETURNS -1: the site is not published

local site = load_site(ARGV[1])
if not site then return {-1, 0, '0'} end
local now, following = now_ms(), '0'

local function apply_decision()
  if ARGV[2] ~= '' then decisions.decide(site.name, 'gate', ARGV[2], ARGV[3], ARGV[4]) end
  decisions.apply_gate(site.name)
  redis.call('HDEL', site.key, 'paused_before')  -- set by a recovery, which ends here
  redis.call('UNLINK', site.key .. ':restored')
  local _, work = decisions.underway(site.name)
  if ARGV[2] == '' and work == 'restore' then redis.call('HDEL', P .. ':underway', site.name) end
  site = load_site(ARGV[1])
end

if ARGV[5] == '' then apply_decision() end
-- Boards that the pause put off are due at once: next_try() of produce.lua may lie far ahead.
if not site.paused and not site.draining then
  local cursor, planned = ARGV[5] == '' and '0' or ARGV[5], {}
  local page = redis.call('ZSCAN', site.key .. ':overdue', cursor, 'COUNT', CHUNK)
  following = page[1]
  for i = 1, #page[2], 2 do planned[i], planned[i + 1] = now, site.name .. ' ' .. page[2][i] end
  if #planned > 0 then redis.call('ZADD', P .. ':boards', 'XX', unpack(planned)) end
end
schedule_look(site, now + 1000)
return {0, release(site, now), following}
