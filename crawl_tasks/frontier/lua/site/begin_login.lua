-- Begin a login of a site, or hand out the session that another worker opened meanwhile. One login runs at a time,
-- under a fencing token. After a refused one the next waits, unless the credentials have changed. Redis sees sealed
-- sessions only.
-- INCLUDES: lib/site
-- FLAGS: allow-oom
-- KEYS 1: key prefix
-- ARGV 1: site
-- ARGV 2: caller, a random word: the same call sent twice begins one login
-- ARGV 3: fencing token of the session that the caller knows as ended, 0 for none
-- ARGV 4: fingerprint of the credentials
-- ARGV 5: most logins in a day
-- ARGV 6: ms after which a login that has not ended counts as lost
-- RETURNS 0: {0, fencing token}: the caller logs in
-- RETURNS 1: {1, fencing token, sealed session}: another session is open
-- RETURNS 2: {2, ms}: another worker logs in, for so long at most
-- RETURNS 3: {3, ms, reason}: the last login was refused, and the next one waits
-- RETURNS 4: {4, ms}: no login is left until tomorrow (UTC)
-- RETURNS -1: the site is not published

local DAY = 86400000

local site = load_site(ARGV[1])
if not site then return {-1} end
local key, now = site.key .. ':session', now_ms()
local v = redis.call('HMGET', key, 'token', 'sealed', 'fence', 'caller', 'until', 'rest_until', 'reason', 'day',
  'logins', 'fingerprint', 'refused')

-- Note for monitoring since when no login succeeds, and why.
local function note_refused(reason)
  if redis.call('HSETNX', site.key, 'login', string.format('%.0f ', now) .. reason) == 1 then note_change(site) end
end

local token, fence, is_same = v[1] or '0', tonumber(v[3] or 0), v[10] == ARGV[4]
if v[2] and is_same and token ~= ARGV[3] then return {1, token, v[2]} end
if v[4] == ARGV[2] then return {0, v[3]} end
if tonumber(v[5] or 0) > now then return {2, v[5] - now} end
if v[11] == ARGV[4] and tonumber(v[6] or 0) > now then
  note_refused(v[7] or '')
  return {3, v[6] - now, v[7] or ''}
end

local day = math.floor(now / DAY)
local logins = tonumber(v[8]) == day and tonumber(v[9]) or 0
if logins >= tonumber(ARGV[5]) then
  note_refused('no login is left today')
  return {4, (day + 1) * DAY - now}
end
local mine = string.format('%.0f', math.max(now, fence + 1))
redis.call('HSET', key, 'fence', mine, 'caller', ARGV[2], 'until', string.format('%.0f', now + ARGV[6]),
  'day', day, 'logins', logins + 1, 'fingerprint', ARGV[4])
redis.call('HDEL', key, 'token', 'sealed')
if not is_same then redis.call('HDEL', key, 'refusals') end
return {0, mine}
