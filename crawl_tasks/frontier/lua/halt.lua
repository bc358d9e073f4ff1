-- Let all sites stand still, or go on: nothing is leased, released or produced; what is being fetched ends.
-- KEYS 1: key prefix
-- ARGV 1: why, one line; '' to go on
-- RETURNS 0: {0, 1 when all stood still before, else 0}

local stood = redis.call('EXISTS', P .. ':halt')
if ARGV[1] == '' then
  redis.call('DEL', P .. ':halt')
else
  redis.call('SET', P .. ':halt', ARGV[1])
end
return {0, stood}
