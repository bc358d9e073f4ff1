-- Count the requests of sites by state, at one instant, by the sizes of the structures that hold them. Read their
-- counters.
-- INCLUDES: lib/site
-- FLAGS: no-writes
-- KEYS 1: key prefix
-- ARGV 1: ms after which an overdue board is late
-- ARGV 2..: sites
-- RETURNS 0: {0, a site, ...}, each one text, or '' for a site that is not published. NUL stands between the values:
--   1. admitted, delayed, parked, dead, leased, open
--   2. ready, released, done, for each of list, post, comment
--   3. addresses in the guard
--   4. boards, scanning, never scanned, overdue, late, due time of the oldest overdue one
--   5. boards that are not watched, and some of them, a line each: "<since> <dead, parked, empty or held> <reason>
--      <board>"
--   6. time at which the gate opens
--   7. number of values of the site's hash, then its names and values
--   8. names and values of the site's statistics

local now = now_ms()
local SEPARATOR = '\0'  -- one text is read ten times faster than as many values

-- Not load_site(): thousands of sites are counted every few seconds, and the reply needs the whole hash anyway.
local function read_facts(name)
  local key, f = P .. ':s:' .. name, {}
  local fields = redis.call('HGETALL', key)
  for i = 1, #fields, 2 do f[fields[i]] = fields[i + 1] end
  if not f.version then return nil end
  return {key = key, fields = fields, rid = f.admitted or 0,
    done = {f['done:list'] or 0, f['done:post'] or 0, f['done:comment'] or 0},
    opens_at = gate_opens_at(f.next_at, f.quiet, f.daily_budget, f.offsets, f.spent),
    levels = {list = f['levels:list'] or '', post = f['levels:post'] or '', comment = f['levels:comment'] or ''}}
end

local function guarded(key)
  local sum, tables = 0, redis.call('HGETALL', key .. ':seen')
  for i = 1, #tables, 2 do
    if string.sub(tables[i], -2) == ':n' then sum = sum + tables[i + 1] end
  end
  return sum
end

local function unwatched(key)
  local number, lines = redis.call('HLEN', key .. ':unwatched'), {}
  if number == 0 then return 0, '' end
  local page = redis.call('HSCAN', key .. ':unwatched', 0, 'COUNT', 100)[2]
  for i = 1, #page, 2 do lines[#lines + 1] = page[i + 1] .. ' ' .. page[i] end
  return number, table.concat(lines, '\n')
end

local function count_site(site)
  local key = site.key
  local v = {site.rid, redis.call('ZCARD', key .. ':delayed'), redis.call('HLEN', key .. ':parked'),
    redis.call('HLEN', key .. ':dead'), redis.call('ZCARD', key .. ':leased'), redis.call('HLEN', key .. ':open')}
  for i, stage in ipairs(STAGES) do
    local ready = 0
    for _, list in ipairs(ready_keys(site, stage)) do ready = ready + redis.call('LLEN', list) end
    v[#v + 1], v[#v + 2], v[#v + 3] = ready, redis.call('ZCARD', key .. ':released:' .. stage), site.done[i]
  end
  v[#v + 1] = guarded(key)
  for _, set in ipairs({':boards', ':scanning', ':unscanned'}) do v[#v + 1] = redis.call('SCARD', key .. set) end
  local overdue = redis.call('ZCARD', key .. ':overdue')
  v[#v + 1] = overdue
  v[#v + 1] = overdue > 0 and redis.call('ZCOUNT', key .. ':overdue', '-inf', now - ARGV[1]) or 0
  v[#v + 1] = overdue > 0 and redis.call('ZRANGE', key .. ':overdue', 0, 0, 'WITHSCORES')[2] or 0
  v[#v + 1], v[#v + 2] = unwatched(key)
  v[#v + 1] = string.format('%.0f', site.opens_at)
  v[#v + 1] = #site.fields
  local all = {table.concat(v, SEPARATOR), table.concat(site.fields, SEPARATOR)}
  local stats = redis.call('HGETALL', key .. ':stats')
  if #stats > 0 then all[3] = table.concat(stats, SEPARATOR) end
  return table.concat(all, SEPARATOR)
end

local counted = {}
for i = 2, #ARGV do
  local site = read_facts(ARGV[i])
  counted[i - 1] = site and count_site(site) or ''
end
return {0, unpack(counted)}
