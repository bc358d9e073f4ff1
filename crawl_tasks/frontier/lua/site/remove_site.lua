-- Remove a site by an operator's decision: it is published no more, so that nothing of it is leased, committed or
-- scanned. wipe_site.lua then deletes its keys. Until its last call, or until end_removal.lua where the data are
-- erased, the site is not published again. A second call goes on with a removal that was cut off.
-- INCLUDES: lib/site lib/decisions
-- FLAGS: allow-oom
-- KEYS 1: key prefix
-- ARGV 1: site
-- ARGV 2: who decided
-- ARGV 3: why
-- ARGV 4: token of the removal
-- ARGV 5: 1 to erase what is stored as well, else 0
-- RETURNS 0: {0, 1 when the site was published, else 0}
-- RETURNS -1: no such site is published, and none was removed
-- RETURNS -2: the site is on its way to another cell

local name = ARGV[1]
local key, is_removed = P .. ':s:' .. name, decisions.value(name, 'site') == 'removed'
if redis.call('HEXISTS', P .. ':leaving', name) == 1 or redis.call('HEXISTS', P .. ':arriving', name) == 1 then
  return {-2, 0}
end
local was_published = redis.call('HEXISTS', P .. ':sites', name)
if was_published == 0 and not is_removed then return {-1, 0} end
-- Above all tokens, so that it tells what was seen before from what a later site of this name sees.
local fence = tonumber(redis.call('HGET', key, 'fence') or 0)
if not is_removed then decisions.decide(name, 'site', 'removed', ARGV[2], ARGV[3], fence + 1) end
decisions.end_site(name, ARGV[4], ARGV[5] == '1' and 'erase' or 'remove')
note_change({name = name})
return {0, was_published}
