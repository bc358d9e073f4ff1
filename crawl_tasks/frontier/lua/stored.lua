-- Take stored pages off the outbox and count what they brought.
-- KEYS 1: key prefix
-- ARGV 1: what was stored, as JSON: {site: {name of a statistic: number, stored: pages}}
-- ARGV 2: ages of posts by board, as JSON: {site: {board: [number by bucket of AGES_S ..., sum]}}
-- ARGV 3..: ids
-- RETURNS 0: {0, pages still waiting}

-- One field a board, and none of boards that nobody published: there may be a hundred thousand.
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

local stream, gone = P .. ':outbox', 0
for i = 3, #ARGV, CHUNK do
  local last = math.min(i + CHUNK - 1, #ARGV)
  redis.call('XACK', stream, 'store', unpack(ARGV, i, last))
  gone = gone + redis.call('XDEL', stream, unpack(ARGV, i, last))
end
if gone > 0 then  -- called again for the same pages, it counts nothing
  for name, numbers in pairs(cjson.decode(ARGV[1])) do
    count_settled(name, numbers.stored or 0)
    numbers.stored = nil
    for field, n in pairs(numbers) do tally({key = P .. ':s:' .. name}, field, string.format('%.0f', n)) end
    note_change({name = name})
  end
  for name, boards in pairs(cjson.decode(ARGV[2])) do
    for id, ages in pairs(boards) do add_ages(P .. ':s:' .. name .. ':board:' .. id, ages) end
  end
end
return {0, redis.call('XLEN', stream)}
