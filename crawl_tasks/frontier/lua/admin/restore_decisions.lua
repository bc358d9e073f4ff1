-- Restore decisions of operators about a site from the database, before anything of the site is leased. A newer decision in
-- Redis stays.
-- KEYS 1: key prefix
-- ARGV 1: site
-- ARGV 2..: subject and decision as JSON, see decisions.lua
-- RETURNS 0: {0, restored}

local restored = 0
for i = 2, #ARGV, 2 do
  local last = decisions.last(ARGV[1], ARGV[i])
  if not last or tonumber(last[1]) < tonumber(cjson.decode(ARGV[i + 1])[1]) then
    redis.call('HSET', decisions.key(ARGV[1]), ARGV[i], ARGV[i + 1])
    restored = restored + 1
  end
end
return {0, restored}
