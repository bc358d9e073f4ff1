-- Count a site's requests by state from the sizes of the structures that hold them, at one instant.
-- KEYS 1: key prefix
-- ARGV 1: site
-- ARGV 2: ms after which an overdue board is late
-- RETURNS 0: {0, admitted, delayed, parked, dead, leased, open, {ready, released, done of list}, {post}, {comment},
--   fingerprints in the guard, {boards, scanning, never scanned, overdue, late, when the oldest overdue was due}}
-- RETURNS -1: the site is not published

local site = load_site(ARGV[1])
if not site then return {-1} end
local key = site.key
local stages = {}
for i, stage in ipairs(STAGES) do
  local ready = 0
  for _, list in ipairs(ready_keys(site, stage)) do ready = ready + redis.call('LLEN', list) end
  local done = tonumber(redis.call('HGET', key, 'done:' .. stage) or 0)
  stages[i] = {ready, redis.call('ZCARD', key .. ':released:' .. stage), done}
end
local guarded, tables = 0, redis.call('HGETALL', key .. ':guard')
for i = 1, #tables, 2 do
  if string.sub(tables[i], -2) == ':n' then guarded = guarded + tables[i + 1] end
end
local oldest = redis.call('ZRANGE', key .. ':overdue', 0, 0, 'WITHSCORES')
local boards = {redis.call('SCARD', key .. ':boards'), redis.call('SCARD', key .. ':scanning'),
  redis.call('SCARD', key .. ':unscanned'), redis.call('ZCARD', key .. ':overdue'),
  redis.call('ZCOUNT', key .. ':overdue', '-inf', now_ms() - ARGV[2]), oldest[2] or 0}
return {0, site.rid, redis.call('ZCARD', key .. ':delayed'), redis.call('HLEN', key .. ':parked'),
  redis.call('HLEN', key .. ':dead'), redis.call('ZCARD', key .. ':leased'), redis.call('HLEN', key .. ':open'),
  stages[1], stages[2], stages[3], guarded, boards}
