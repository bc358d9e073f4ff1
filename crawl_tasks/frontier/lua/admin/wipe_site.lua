-- Wipe a site's ledger, guard and boards, some keys at a time, before recovery builds them anew. The site stays
-- unpublished, so that no lease begins and no old one ends, and will be paused when it is published again. Of a removed
-- site nothing is left.
-- INCLUDES: lib/site lib/decisions
-- FLAGS: allow-oom
-- KEYS 1: key prefix
-- ARGV 1: site
-- ARGV 2: cursor, 0 to begin
-- ARGV 3: token of the caller, who takes the work over with cursor 0
-- ARGV 4: 1 for a recovery that scans all boards to their ends, else 0
-- RETURNS 0: {0, next cursor (0 at the end)}
-- RETURNS 1: {1, '0'}, another caller has taken over, and nothing was deleted

local AT_ONCE = 150  -- keys

local key, token = P .. ':s:' .. ARGV[1], ARGV[3] or ''
local holder, work = decisions.underway(ARGV[1])
if ARGV[2] == '0' then
  local is_removed = decisions.value(ARGV[1], 'site') == 'removed'
  redis.call('HDEL', P .. ':sites', ARGV[1])
  for _, name in ipairs({'leaving', 'arriving', 'moved'}) do redis.call('HDEL', P .. ':' .. name, ARGV[1]) end
  redis.call('ZREM', P .. ':due', ARGV[1])
  -- A wipe that begins again after an interruption finds its own pause. `paused_before` keeps the operator's choice.
  local v = redis.call('HMGET', key, 'paused_before', 'paused')
  redis.call('UNLINK', key)
  if not is_removed then redis.call('HSET', key, 'paused', 1, 'paused_before', v[1] or v[2] or 0, 'fence', now_ms()) end
  if ARGV[4] == '1' then redis.call('HSET', P .. ':ages', 'walks', 1) end
  if not is_removed then work = 'recover' elseif work ~= 'erase' then work = 'remove' end
  redis.call('HSET', P .. ':underway', ARGV[1], token .. ' ' .. work)
elseif holder ~= token then
  return {1, '0'}
end
local page = redis.call('SCAN', ARGV[2], 'MATCH', key .. ':*', 'COUNT', AT_ONCE)
for _, name in ipairs(page[2]) do
  local id = string.match(string.sub(name, #key + 1), '^:board:(.*)$')
  if id then
    redis.call('ZREM', P .. ':boards', ARGV[1] .. ' ' .. id)
    redis.call('ZREM', P .. ':fulls', ARGV[1] .. ' ' .. id)
  end
  redis.call('UNLINK', name)
end
local is_over = page[1] == '0'
if is_over and work == 'remove' then redis.call('HDEL', P .. ':underway', ARGV[1]) end
if is_over and work == 'recover' then redis.call('HSET', P .. ':underway', ARGV[1], token .. ' restore') end
-- Monitoring forgets a site that is gone.
if is_over and work ~= 'recover' then
  redis.call('HDEL', P .. ':changes', ARGV[1])
else
  note_change({name = ARGV[1]})
end
return {0, page[1]}
