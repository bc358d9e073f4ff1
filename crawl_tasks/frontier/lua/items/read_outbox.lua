-- Take the oldest waiting pages from the outbox for storing: first pages that the taker took before and did not store,
-- then pages of a dead taker, then new ones.
-- INCLUDES: lib/site
-- FLAGS: allow-oom
-- KEYS 1: key prefix
-- ARGV 1: taker
-- ARGV 2: most pages to take
-- ARGV 3: ms after which another taker's pages are taken over
-- ARGV 4: greatest number of a batch that the taker knows of. A Redis that gives it again has lost its last writes
-- RETURNS 0: {0, {id, items, id, items, ...}, number of this batch, last change by pages of this ledger that was
--   acknowledged, now in ms}

local stream, group = P .. ':outbox', 'store'
if redis.call('EXISTS', stream) == 0 then return {0, {}, 0, 0, now_ms()} end
redis.call('XDEL', stream, '0-1')  -- a first write that frees memory: at maxmemory Redis lets the others follow
redis.pcall('XGROUP', 'CREATE', stream, group, '0')
local taken = {}
local function collect(entries)
  for _, entry in ipairs(entries) do
    if entry[2] then
      taken[#taken + 1], taken[#taken + 2] = entry[1], entry[2][2]
    end
  end
end
local function read_group(from)
  local left = ARGV[2] - #taken / 2
  if left <= 0 then return end
  local entries = redis.call('XREADGROUP', 'GROUP', group, ARGV[1], 'COUNT', left, 'STREAMS', stream, from)
  if entries then collect(entries[1][2]) end
end
read_group('0')
local left = ARGV[2] - #taken / 2
if left > 0 then collect(redis.call('XAUTOCLAIM', stream, group, ARGV[1], ARGV[3], '0', 'COUNT', left)[2]) end
read_group('>')
local number, known = 0, tonumber(ARGV[4] or 0)
if #taken > 0 then number = redis.call('HINCRBY', P .. ':ages', 'drawn', 1) end
if #taken > 0 and number <= known then
  number = known + 1
  redis.call('HSET', P .. ':ages', 'drawn', number, 'older', now_ms())
end
return {0, taken, number, tonumber(redis.call('HGET', P .. ':ages', 'own') or 0), now_ms()}
