-- Restore a wiped ledger from the database: requests that were done, for the guard, and requests that were admitted and
-- not done, which become ready. The tail of no thread is restored: it may have gone down again since the last page that
-- is known, so that a thread is read whole when it changes next. A second call with the same lines changes nothing.
-- INCLUDES: lib/site guard/guard lib/admission
-- KEYS 1: key prefix
-- ARGV 1: site
-- ARGV 2: ms, the newest observation of the database, above which the tokens go on, or 0
-- ARGV 3..: lines, with the flag "!" for a request that is to be done, "." for one that is only known, ":" for one
--   whose page is gone
-- RETURNS 0: {0, made ready, known only}
-- RETURNS -1: the site is not published

local site = load_site(ARGV[1])
if not site then return {-1, 0, 0} end
local now, known = now_ms(), 0
-- Guards that keep nothing would let the lines of a call in again whose answer was lost.
local lines = redis.sha1hex(table.concat(ARGV, '\n', 3))
local is_first = #ARGV < 3 or redis.call('SADD', site.key .. ':restored', lines) == 1

-- The Redis before may have had a clock that was ahead: the database would take all new observations for older ones.
if tonumber(ARGV[2]) > tonumber(redis.call('HGET', site.key, 'fence') or 0) then
  redis.call('HSET', site.key, 'fence', ARGV[2])
end
for i = 3, #ARGV do
  local word, flag, stage = string.match(ARGV[i], WIRE.line.word_flag_stage)
  local is_new = is_first and guard_admits(site, stage, word, now, '!')
  if flag == '!' and is_new then admit_line(site, ARGV[i], now, true) end
  if flag ~= '!' then known = known + 1 end
  if flag == ':' and is_new then guard_gone(site, stage, word, now) end
end
flush_admission(site)
schedule_look(site, now + 1000)
note_change(site)
return {0, site.page.fresh, known}
