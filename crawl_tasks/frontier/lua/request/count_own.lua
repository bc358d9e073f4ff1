-- Raise own counters of sites. Those of a site that is not published are left out.
-- KEYS 1: key prefix
-- ARGV 1..: of each counter its site, its name and the number
-- RETURNS 0: {0, counters raised}

local MOST_NAMES = 100
local raised = 0
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
    note_change(site)
    raised = raised + 1
  end
end
return {0, raised}
