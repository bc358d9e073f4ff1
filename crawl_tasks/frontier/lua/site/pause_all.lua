-- Pause or resume all sites. While paused, nothing is leased, released or produced, and pages that are being fetched
-- end.
-- INCLUDES: lib/site
-- FLAGS: allow-oom
-- KEYS 1: key prefix
-- ARGV 1: reason, one line, or '' to resume
-- RETURNS 0: {0, 1 when all stood still before, else 0}

local stood = redis.call('EXISTS', P .. ':halt')
if ARGV[1] == '' then
  redis.call('DEL', P .. ':halt')
else
  redis.call('SET', P .. ':halt', ARGV[1])
end
return {0, stood}
