-- Freeze a site that moves: it is published no more, and its terms stand aside, so that no script finds the site. Its released
-- requests are ready again. Their messages find nothing.
-- FLAGS: allow-oom
-- KEYS 1: key prefix
-- ARGV 1: site
-- ARGV 2: token of the mover
-- RETURNS 0: {0, 0}, also when it was frozen before, or has left already
-- RETURNS 1: {1, 0}, another mover has taken over
-- RETURNS 2: {2, requests leased}, which must end first, as must a flush of its guard

if not holds_move('leaving', ARGV[1], ARGV[2]) then return {1, 0} end
local key = P .. ':s:' .. ARGV[1]
local site = load_site(ARGV[1])
if not site or redis.call('HEXISTS', P .. ':sites', ARGV[1]) == 0 then return {0, 0} end
local leased = redis.call('ZCARD', key .. ':leased') + (site.flushing and 1 or 0)
if leased > 0 then return {2, leased} end
for _, stage in ipairs(STAGES) do
  local released = key .. ':released:' .. stage
  for _, rid in ipairs(redis.call('ZRANGE', released, 0, -1)) do  -- bounded by the window
    local held = redis.call('HGET', key .. ':open', rid)
    redis.call('HDEL', key .. ':open', rid)
    if held then return_ready(site, rid .. ' ' .. string.match(held, '^%d+ (.*)$')) end
  end
  redis.call('DEL', released)
end
-- Pages on the shelf stay here, and count as stored where the site arrives.
local shelved = 0
for _, entry in ipairs(redis.call('XRANGE', P .. ':shelf', '-', '+')) do  -- bounded: a thousand pages
  local name, is_own = shelved_site(entry)
  if name == ARGV[1] and is_own then shelved = shelved + 1 end
end
redis.call('HSET', key, 'shelved', shelved)
redis.call('HSET', key, 'file', redis.call('HGET', P .. ':sites', ARGV[1]))
redis.call('HDEL', P .. ':sites', ARGV[1])
redis.call('RENAME', key, key .. ':frozen')
note_change(site)
return {0, 0}
