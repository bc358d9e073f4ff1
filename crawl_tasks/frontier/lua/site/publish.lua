-- Publish a site to all workers: its version, text and terms at one instant, with the boards that were staged. Boards
-- that left the file are scanned no more. The others keep their schedule, within the new bounds. An interval that an
-- operator fixed holds until the file gives the board another. A held board stays out of the schedule. With a new
-- version of the file an open circuit breaker may send a probe at once.
-- INCLUDES: lib/site lib/boards lib/circuit_breaker lib/decisions
-- KEYS 1: key prefix
-- ARGV 1: site
-- ARGV 2: version
-- ARGV 3: the site file as JSON, or '' for a site whose boards are known as they are
-- ARGV 4: publisher, as host:directory of the site file, or '' for a recovery
-- ARGV 5: signature of the boards, or ''
-- ARGV 6: name of the publication
-- ARGV 7: number of publications before the boards were compared
-- ARGV 8: boards to apply in this call
-- ARGV 9: number of boards that were staged
-- ARGV 10: number of terms
-- ARGV 11..: name and value of each term, then boards that were not staged, as boards.lua describes them
-- RETURNS 0: {0, how much is left to apply}
-- RETURNS 1: {1, 0}, without a text: the boards of the ledger are others
-- RETURNS 2: {2, 0}, another publication came between, or staged boards were lost, and nothing was changed
-- RETURNS 3: {3, 0}, the site has moved to another cell, or is on its way there
-- RETURNS 4: {4, 0}, the site is being removed, and its keys are not wiped yet
-- RETURNS 5: {5, 0}, the site is being removed with what is stored of it
-- RETURNS 6: {6, 0}, a recovery wipes the site

local name, key, now = ARGV[1], P .. ':s:' .. ARGV[1], now_ms()
if redis.call('HEXISTS', P .. ':leaving', name) == 1 or redis.call('HEXISTS', P .. ':moved', name) == 1 then
  return {3, 0}
end
local _, work = decisions.underway(name)
if work == 'remove' then return {4, 0} end
if work == 'erase' then return {5, 0} end
if work == 'recover' then return {6, 0} end
local has_boards = ARGV[3] ~= ''
local known = redis.call('HMGET', key, 'version', 'signature', 'publications', 'board_count')
if not has_boards then
  local is_same = known[1] == ARGV[2] and known[2] == ARGV[5] and redis.call('HEXISTS', P .. ':sites', name) == 1
    and tonumber(known[4]) == redis.call('SCARD', key .. ':boards')
  if not is_same then return {1, 0} end
elseif (known[3] or '0') ~= ARGV[7] or redis.call('HLEN', key .. ':staged:' .. ARGV[6]) ~= tonumber(ARGV[9]) then
  return {2, 0}
end
local before = load_site(name)
if has_boards then
  redis.call('HSET', P .. ':sites', name, ARGV[3])
  redis.call('HSET', key, 'version', ARGV[2], 'format', FORMAT, 'signature', ARGV[5])
  redis.call('HINCRBY', key, 'publications', 1)
end
-- Else Redis keeps the hash as a list, and looks for each of the terms from its first one on.
redis.call('HSET', key, 'encoding', 'a hash with a value above hash-max-listpack-value (64 bytes) is a table')
redis.call('HSETNX', key, 'stored', 0)
redis.call('SET', P .. ':epoch', now, 'NX')
local first_board = 11 + 2 * tonumber(ARGV[10])
for i = 11, first_board - 1, 2 do redis.call('HSET', key, ARGV[i], ARGV[i + 1]) end
pack_terms(key, ARGV[2])

-- To publish a site from a file brings it back.
if ARGV[4] ~= '' then
  redis.call('HSET', key, 'publisher', ARGV[4])
  if decisions.value(name, 'site') == 'removed' then decisions.decide(name, 'site', 'published', '', ARGV[4]) end
  if decisions.value(name, 'file') == 'gone' then decisions.decide(name, 'file', 'there', '', ARGV[4]) end
end
-- The life of a site begins above the end of an earlier one of this name, whose tokens may have run ahead of the clock.
-- Its tokens begin there too: after a loss none is given a second time.
local life, erased = decisions.last(name, 'site'), decisions.last(name, 'data')
local begins = math.max(now, life and tonumber(life[1]) or 0, erased and erased[1] + 1 or 0)
redis.call('HSETNX', key, 'since', string.format('%.0f', begins))
redis.call('HSETNX', key, 'fence', string.format('%.0f', begins))
if decisions.value(name, 'file') == 'gone' then
  redis.call('HSET', key, 'withdrawn', 1)
else
  redis.call('HDEL', key, 'withdrawn')
end

if has_boards then
  local staged, pending = key .. ':staged:' .. ARGV[6], key .. ':pending'
  stage_boards(name, staged, ARGV, first_board, tonumber(redis.call('HGET', key, 'full_pass_ms') or 0), now)
  if redis.call('EXISTS', staged) == 1 then
    redis.call('RENAME', staged, pending)
    redis.call('PERSIST', pending)
  end
  redis.call('HSET', pending, '', 'rows 0')
end
local left = apply_boards(name, tonumber(ARGV[8]), now)
local is_new = not before and redis.call('HEXISTS', key, 'paused_before') == 0
if is_new and redis.call('EXISTS', decisions.key(name)) == 1 then decisions.apply_gate(name) end
if before and before.version ~= ARGV[2] then
  -- Another login, or none, other boards and rules: the next page tells.
  redis.call('HDEL', key, 'login', 'scan_gap', 'mismatch')
  for _, stage in ipairs(STAGES) do
    if before.open_breakers[stage] then plan_probe(before, stage, now) end
  end
end
schedule_look({key = key, name = name}, now)
note_change({name = name})
return {0, left}
