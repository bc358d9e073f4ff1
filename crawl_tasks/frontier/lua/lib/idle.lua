-- The end of a site's work, for its event hooks. A site is idle when none of its requests is open. Its crawl has ended
-- when, besides, the store has every page and no scan begins by itself: the site has no boards, drains, or has lost its
-- file. A `run` that serves this Redis alone ends the crawls of its sites by itself. Whoever ends the last open
-- request, or stores the last page, learns of it, so that each end is told once.
-- INCLUDES: lib/site lib/release
-- EXPORTS: has_ended idle_state

local function is_idle(site)
  if (site.leased or 0) > 0 then return false end
  local key = site.key
  local held = redis.call('EXISTS', key .. ':leased', key .. ':delayed', key .. ':released:list',
    key .. ':released:post', key .. ':released:comment')
  if held > 0 then return false end
  for _, stage in ipairs(STAGES) do
    if has_ready(site, stage) then return false end
  end
  return true
end

function has_ended(site)
  if not (site.draining or redis.call('EXISTS', site.key .. ':boards') == 0) then return false end
  if not is_idle(site) or redis.call('SISMEMBER', P .. ':only', site.name) == 1 then return false end
  local v = redis.call('HMGET', site.key, 'stored', 'done:list', 'done:post', 'done:comment')
  return tonumber(v[1] or 0) >= (v[2] or 0) + (v[3] or 0) + (v[4] or 0)
end

-- Return 0 for a site with open requests, 1 for one that is idle, 2 for one whose crawl has ended.
function idle_state(site) return is_idle(site) and (has_ended(site) and 2 or 1) or 0 end
