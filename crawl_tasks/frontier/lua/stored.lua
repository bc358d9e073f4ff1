-- Take stored pages off the outbox and count what they brought.
-- KEYS 1: key prefix
-- ARGV 1: what was stored, as JSON: {site: {name of a statistic: number}}
-- ARGV 2..: ids
-- RETURNS 0: {0, pages still waiting}

local stream, gone = P .. ':outbox', 0
for i = 2, #ARGV, CHUNK do
  local last = math.min(i + CHUNK - 1, #ARGV)
  redis.call('XACK', stream, 'store', unpack(ARGV, i, last))
  gone = gone + redis.call('XDEL', stream, unpack(ARGV, i, last))
end
if gone > 0 then  -- called again for the same pages, it counts nothing
  for name, numbers in pairs(cjson.decode(ARGV[1])) do
    for field, n in pairs(numbers) do tally({key = P .. ':s:' .. name}, field, string.format('%.0f', n)) end
    note_change({name = name})
  end
end
return {0, redis.call('XLEN', stream)}
