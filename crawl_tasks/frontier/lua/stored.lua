-- Take stored pages off the outbox.
-- KEYS 1: key prefix
-- ARGV 1..: ids
-- RETURNS 0: {0, pages still waiting}

local stream = P .. ':outbox'
for i = 1, #ARGV, CHUNK do
  local last = math.min(i + CHUNK - 1, #ARGV)
  redis.call('XACK', stream, 'store', unpack(ARGV, i, last))
  redis.call('XDEL', stream, unpack(ARGV, i, last))
end
return {0, redis.call('XLEN', stream)}
