-- Unpack start entries that have moved with a site, or that stay with it.
-- INCLUDES: lib/site lib/release
-- KEYS 1: key prefix
-- ARGV 1: site
-- ARGV 2: most entries
-- RETURNS 0: {0, unpacked}

local key, unpacked = P .. ':s:' .. ARGV[1] .. ':carried', 0
for _, text in ipairs(redis.call('LPOP', key, ARGV[2]) or {}) do
  local start_key, kind, score, entry = unpack(cjson.decode(text))
  return_start(start_key, kind, score, entry, false)
  unpacked = unpacked + 1
end
note_change({name = ARGV[1]})
return {0, unpacked}
