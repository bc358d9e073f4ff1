-- Raise own counters of sites. Those of a site that is not published are left out.
-- INCLUDES: lib/site
-- KEYS 1: key prefix
-- ARGV 1..: of each counter its site, its name and the number
-- RETURNS 0: {0, counters raised}

local MOST_NAMES = 100
local LASTS = 900000  -- ms after a failed call from which on the next one begins anew
local FAILURES = {hook_failed = true, hook_hung = true, hook_lost = true, priority_failed = true}
local raised, now = 0, now_ms()

-- Note calls of a site's own functions that failed, as "<since> <last one> <number> <names>".
local function note_failures(key, name, n)
  local text = redis.call('HGET', key, 'own_failed') or ''
  local since, last, count, names = string.match(text, '^(%d+) (%d+) (%d+) (.*)$')
  if not since or now - last > LASTS then since, count, names = string.format('%.0f', now), 0, name end
  if not string.find(' ' .. names .. ' ', ' ' .. name .. ' ', 1, true) then names = names .. ' ' .. name end
  redis.call('HSET', key, 'own_failed', string.format('%s %.0f %.0f %s', since, now, count + n, names))
end

for i = 1, #ARGV, 3 do
  local site = {name = ARGV[i], key = P .. ':s:' .. ARGV[i]}  -- not load_site(): a call counts for a thousand sites
  if redis.call('HEXISTS', site.key, 'version') == 1 then
    local field = 'own:' .. ARGV[i + 1]
    local key = site.key .. ':stats'
    if redis.call('HEXISTS', key, field) == 0 and redis.call('HINCRBY', site.key, 'own_names', 1) > MOST_NAMES then
      redis.call('HSET', site.key, 'own_names', MOST_NAMES)
      field = 'own:other'
    end
    redis.call('HINCRBY', key, field, ARGV[i + 2])
    if FAILURES[ARGV[i + 1]] then note_failures(site.key, ARGV[i + 1], ARGV[i + 2]) end
    note_change(site)
    raised = raised + 1
  end
end
return {0, raised}
