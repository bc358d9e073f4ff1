-- Acknowledge decisions of operators that the database has now. One that was changed meanwhile stays to be stored.
-- INCLUDES: lib/site lib/decisions
-- FLAGS: allow-oom
-- KEYS 1: key prefix
-- ARGV 1..: "site subject" and the stored decision as JSON, see decisions.lua
-- RETURNS 0: {0, decisions that the database lacks}

for i = 1, #ARGV, 2 do
  local name, subject = string.match(ARGV[i], '^(%S+) (.*)$')
  local _, text = decisions.last(name, subject)
  if not text or text == ARGV[i + 1] then redis.call('SREM', P .. ':undecided', ARGV[i]) end
end
return {0, redis.call('SCARD', P .. ':undecided')}
