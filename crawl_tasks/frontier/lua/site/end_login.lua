-- End a login: its sealed session holds for all workers, or it was refused and the next one waits, or it failed on its
-- way and does not count. A login that took too long has lost its fencing token to another, and changes nothing.
-- INCLUDES: lib/site
-- FLAGS: allow-oom
-- KEYS 1: key prefix
-- ARGV 1: site
-- ARGV 2: fencing token
-- ARGV 3: opened, refused or failed
-- ARGV 4: sealed session, empty unless opened
-- ARGV 5: reason, empty unless refused
-- ARGV 6: ms before the next login after one refusal, doubled by each further one
-- RETURNS 0: {0}
-- RETURNS -1: the site is not published
-- RETURNS -2: another login began meanwhile, and nothing was changed

local DAY = 86400000

local site = load_site(ARGV[1])
if not site then return {-1} end
local key = site.key .. ':session'
local v = redis.call('HMGET', key, 'fence', 'caller', 'logins', 'refusals', 'fingerprint', 'refused')
if v[1] ~= ARGV[2] or not v[2] then return {-2} end
redis.call('HDEL', key, 'until', 'caller')
if ARGV[3] == 'opened' then
  redis.call('HSET', key, 'token', ARGV[2], 'sealed', ARGV[4])
  redis.call('HDEL', key, 'refusals')
  if v[6] == v[5] then redis.call('HDEL', key, 'refused', 'reason') end
  redis.call('HDEL', site.key, 'login')
elseif ARGV[3] == 'refused' then
  local refusals, now = tonumber(v[4] or 0), now_ms()
  local rest = math.min(ARGV[6] * 2 ^ refusals, DAY)
  redis.call('HSET', key, 'refusals', refusals + 1, 'rest_until', string.format('%.0f', now + rest), 'reason', ARGV[5],
    'refused', v[5])
  redis.call('HSET', site.key, 'login', string.format('%.0f', now) .. ' ' .. ARGV[5])
else
  redis.call('HSET', key, 'logins', math.max(0, v[3] - 1))
end
note_change(site)
return {0}
