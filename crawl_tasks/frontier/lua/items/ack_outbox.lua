-- Acknowledge stored pages: take them off the outbox and count their results.
-- INCLUDES: lib/site lib/idle lib/release
-- FLAGS: allow-oom
-- KEYS 1: key prefix
-- ARGV 1: counts of stored rows, as JSON: {site: {name of a statistic: number}}
-- ARGV 2: ages of items by board, as JSON: {site: {board: [number by bucket of AGES_S ..., sum]}}
-- ARGV 3: ids of the pages, as JSON: {site: [id]}
-- ARGV 4: greatest change of the database by these pages, 0 for none
-- RETURNS 0: {0, pages that nobody has taken yet, threads with few of their replies as JSON: {site: [id]},
--   each site whose crawl has ended by this ...}

-- Add ages to a board's histogram. One field a board, and none for unpublished boards: there may be a hundred thousand.
local function add_ages(key, ages)
  local v = redis.call('HMGET', key, 'line', 'ages')
  if not v[1] then return end
  local sums, i = {}, 0
  for n in string.gmatch(v[2] or '', '%d+') do
    i = i + 1
    sums[i] = tonumber(n)
  end
  for j, n in ipairs(ages) do sums[j] = string.format('%.0f', n + (i == #ages and sums[j] or 0)) end
  redis.call('HSET', key, 'ages', table.concat(sums, ' ', 1, #ages))
end

-- Delete a site's pages. Return the number deleted: pages that another store worker took over may be gone already.
local stream = P .. ':outbox'
local function take_away(ids)
  local gone = 0
  for i = 1, #ids, CHUNK do
    local last = math.min(i + CHUNK - 1, #ids)
    redis.call('XACK', stream, 'store', unpack(ids, i, last))
    gone = gone + redis.call('XDEL', stream, unpack(ids, i, last))
  end
  return gone
end

local all, ended, short = 0, {}, {}
-- Return the ids of the pages that the present site of this name committed, and those of an earlier one, which was
-- removed.
local function by_life(name, ids)
  local since, own, earlier = tonumber(redis.call('HGET', P .. ':s:' .. name, 'since') or math.huge), {}, {}
  for _, id in ipairs(ids) do
    local life = tonumber(string.match(id, '^%d+')) >= since and own or earlier
    life[#life + 1] = id
  end
  return own, earlier
end

for name, ids in pairs(cjson.decode(ARGV[3])) do
  local own, earlier = by_life(name, ids)
  local threads = redis.call('HGET', P .. ':s:' .. name, 'short')
  if threads then
    short[name] = {}
    for id in pairs(cjson.decode(threads)) do table.insert(short[name], id) end
  end
  local gone = take_away(own)
  all = all + take_away(earlier)
  if gone > 0 then
    count_stored(name, gone)
    note_change({name = name})
    all = all + gone
    local site = load_site(name)
    if site and has_ended(site) then ended[#ended + 1] = name end
  end
end
if all > 0 then  -- a second call for the same pages counts nothing
  for name, numbers in pairs(cjson.decode(ARGV[1])) do
    -- Else a site that was removed would leave its counters.
    local is_there = redis.call('EXISTS', P .. ':s:' .. name) == 1
    for field, n in pairs(is_there and numbers or {}) do
      tally({key = P .. ':s:' .. name}, field, string.format('%.0f', n))
    end
  end
  for name, boards in pairs(cjson.decode(ARGV[2])) do
    for id, ages in pairs(boards) do add_ages(P .. ':s:' .. name .. ':board:' .. id, ages) end
  end
end
for i, last in ipairs(redis.call('HMGET', P .. ':ages', 'change', 'own')) do
  if tonumber(ARGV[4] or 0) > tonumber(last or 0) then
    redis.call('HSET', P .. ':ages', i == 1 and 'change' or 'own', ARGV[4])
  end
end
-- Or the names of all consumers would stay for ever.
if redis.call('XLEN', stream) == 0 then redis.call('DEL', stream) end
return {0, untaken(), cjson.encode(short), unpack(ended)}
