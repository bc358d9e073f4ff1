-- Audit the items of all sites: count the pages that are done and not stored, and those that wait. The difference is lost.
-- KEYS 1: key prefix
-- RETURNS 0: {0, done and not stored, waiting in the outbox or rejected}

local unstored = 0
for _, name in ipairs(redis.call('HKEYS', P .. ':sites')) do  -- bounded: some thousand sites
  local v = redis.call('HMGET', P .. ':s:' .. name, 'stored', 'done:list', 'done:post', 'done:comment')
  if v[1] then unstored = unstored + (v[2] or 0) + (v[3] or 0) + (v[4] or 0) - v[1] end
end
return {0, unstored, redis.call('XLEN', P .. ':outbox') + redis.call('XLEN', P .. ':shelf')}
