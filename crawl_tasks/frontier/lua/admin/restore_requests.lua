-- Restore a wiped ledger from the database: requests that were done, for the guard and the tails of threads, and requests
-- that were admitted and not done, which become ready. A second call changes nothing.
-- KEYS 1: key prefix
-- ARGV 1: site
-- ARGV 2: ms, the newest observation of the database, above which the tokens go on, or 0
-- ARGV 3..: lines, with the flag "!" for a request that is to be done, "." for one that is only known
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

-- The Redis before may have had a clock that was ahead: the database would take all new observations for older ones.
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
flush_admission(site)
schedule_look(site, now + 1000)
note_change(site)
return {0, site.fresh, known}
