-- Count sites' requests by state from the sizes of the structures that hold them, at one instant.
-- KEYS 1: key prefix
-- ARGV 1: ms after which an overdue board is late
-- ARGV 2..: sites
-- RETURNS 0: {0, a site, ...}, each {admitted, delayed, parked, dead, leased, open, {ready, released, done of list},
--   {post}, {comment}, fingerprints in the guard, {boards, scanning, never scanned, overdue, late, when the oldest
--   overdue was due}, when the gate opens}, or {} when it is not published

local now = now_ms()

-- Not load_site(): thousands of sites are counted every few seconds, and these few of the fields suffice.
local function read_facts(name)
  local key = P .. ':s:' .. name
  local f = redis.call('HMGET', key, 'version', 'admitted', 'next_at', 'quiet', 'daily_budget', 'offsets', 'spent',
    'levels:list', 'levels:post', 'levels:comment', 'done:list', 'done:post', 'done:comment')
  if not f[1] then return nil end
  return {key = key, rid = tonumber(f[2] or 0), opens_at = gate_opens_at(f[3], f[4], f[5], f[6], f[7]),
    levels = {list = f[8] or '', post = f[9] or '', comment = f[10] or ''}, done = {f[11], f[12], f[13]}}
end

local function count_requests(site)
  local key, stages = site.key, {}
  for i, stage in ipairs(STAGES) do
    local ready = 0
    for _, list in ipairs(ready_keys(site, stage)) do ready = ready + redis.call('LLEN', list) end
    stages[i] = {ready, redis.call('ZCARD', key .. ':released:' .. stage), tonumber(site.done[i] or 0)}
  end
  local guarded, tables = 0, redis.call('HGETALL', key .. ':guard')
  for i = 1, #tables, 2 do
    if string.sub(tables[i], -2) == ':n' then guarded = guarded + tables[i + 1] end
  end
  local overdue = redis.call('ZCARD', key .. ':overdue')
  local late = overdue > 0 and redis.call('ZCOUNT', key .. ':overdue', '-inf', now - ARGV[1]) or 0
  local oldest = overdue > 0 and redis.call('ZRANGE', key .. ':overdue', 0, 0, 'WITHSCORES')[2] or 0
  local boards = {redis.call('SCARD', key .. ':boards'), redis.call('SCARD', key .. ':scanning'),
    redis.call('SCARD', key .. ':unscanned'), overdue, late, oldest}
  return {site.rid, redis.call('ZCARD', key .. ':delayed'), redis.call('HLEN', key .. ':parked'),
    redis.call('HLEN', key .. ':dead'), redis.call('ZCARD', key .. ':leased'), redis.call('HLEN', key .. ':open'),
    stages[1], stages[2], stages[3], guarded, boards, string.format('%.0f', site.opens_at)}
end

local counted = {}
for i = 2, #ARGV do
  local site = read_facts(ARGV[i])
  counted[i - 1] = site and count_requests(site) or {}
end
return {0, unpack(counted)}
