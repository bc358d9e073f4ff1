-- Freeze a site that moves: it is published no more, and its terms stand aside, so that no script finds the site. Its
-- released requests are ready again. Their messages find nothing.
-- INCLUDES: lib/site lib/admission lib/release
-- FLAGS: allow-oom
-- KEYS 1: key prefix
-- ARGV 1: site
-- ARGV 2: token of the mover
-- ARGV 3: `-` to begin, then where to go on with the count of pages that are laid aside
-- RETURNS 0: {0, ''}, also when it was frozen before, or has left already
-- RETURNS 1: {1, ''}, another mover has taken over
-- RETURNS 2: {2, requests leased}, which must end first, as must a flush of its guard
-- RETURNS 3: {3, where to go on}: nothing was done but to count

if not holds_move('leaving', ARGV[1], ARGV[2]) then return {1, ''} end
local AT_ONCE = 100  -- pages that are laid aside
local key = P .. ':s:' .. ARGV[1]
local site = load_site(ARGV[1])
if not site or redis.call('HEXISTS', P .. ':sites', ARGV[1]) == 0 then return {0, ''} end
local leased = redis.call('ZCARD', key .. ':leased') + (site.flushing and 1 or 0)
if leased > 0 then return {2, leased} end
-- Rejected pages stay here, and count as stored where the site arrives.
local rejected, page = 0, redis.call('XRANGE', P .. ':rejected', ARGV[3], '+', 'COUNT', AT_ONCE)
for _, entry in ipairs(page) do
  local name, is_own = rejected_page(entry)
  if name == ARGV[1] and is_own then rejected = rejected + 1 end
end
if ARGV[3] == '-' then redis.call('HSET', key, 'rejected', 0) end
redis.call('HINCRBY', key, 'rejected', rejected)
if #page == AT_ONCE then return {3, '(' .. page[AT_ONCE][1]} end
for _, stage in ipairs(STAGES) do
  local released = key .. ':released:' .. stage
  for _, rid in ipairs(redis.call('ZRANGE', released, 0, -1)) do  -- bounded by the window
    local held = redis.call('HGET', key .. ':open', rid)
    redis.call('HDEL', key .. ':open', rid)
    if held then return_ready(site, rid .. ' ' .. string.match(held, WIRE.held.work)) end
  end
  redis.call('DEL', released)
end
redis.call('HSET', key, 'file', redis.call('HGET', P .. ':sites', ARGV[1]))
redis.call('HDEL', P .. ':sites', ARGV[1])
redis.call('RENAME', key, key .. ':frozen')
note_change(site)
return {0, ''}
