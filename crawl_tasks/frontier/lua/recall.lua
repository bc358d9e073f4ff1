-- Tell a forgotten ledger what the database knows: requests that were done, for the guard and the tails of threads, and
-- those that were admitted and not done, which become ready. Told twice, it changes nothing.
-- KEYS 1: key prefix
-- ARGV 1: site
-- ARGV 2: ms, the newest observation that the database has: tokens go on behind it; 0 when it is not told
-- ARGV 3..: lines; their flag is "!" when the request is to be done, "." when it is known only
-- RETURNS 0: {0, made ready, known only}
-- RETURNS -1: the site is not published

local site = load_site(ARGV[1])
if not site then return {-1, 0, 0} end
local now, known = now_ms(), 0

local function remember_tail(payload)
  local id, page = unpack(cjson.decode(payload))
  local key = site.key .. ':tail:' .. string.sub(id, 1, -3)
  if page > tonumber(redis.call('HGET', key, id) or 0) then redis.call('HSET', key, id, page) end
end

-- A database that was filled by a Redis whose clock was ahead would take all that is seen from now on for older.
if tonumber(ARGV[2]) > tonumber(redis.call('HGET', site.key, 'fence') or 0) then
  redis.call('HSET', site.key, 'fence', ARGV[2])
end
for i = 3, #ARGV do
  local word, flag, stage, payload = string.match(ARGV[i], '^(%S+) (%p) (%a+) %d %S+ (.*)$')
  local is_new = guard_admits(site, stage, word, now, '!')
  if flag == '!' and is_new then admit_line(site, ARGV[i], now, true) end
  if flag == '.' then known = known + 1 end
  if stage == 'comment' then remember_tail(payload) end
end
settle(site)
attend(site, now + 1000)
note_change(site)
return {0, site.fresh, known}
