-- Claim start entries that other programs left in a list, a set or a sorted set. Claims stand until admit_starts.lua
-- ends them. Those of a caller that died are handed out again, before new ones.
-- INCLUDES: lib/site lib/backlog_limit lib/release
-- KEYS 1: key prefix
-- ARGV 1: key of the entries
-- ARGV 2: site of the entries, as far as its backlog limit leaves room, or '' for entries that name their site
-- ARGV 3: most entries
-- ARGV 4: ms after which a claim is handed out again
-- ARGV 5: most bytes of an entry
-- RETURNS 0: {0, {id, site, entry of each}}
-- RETURNS 1: {1, {}, type of the key}, the key is neither a list nor a set nor a sorted set

local now, most = now_ms(), tonumber(ARGV[3])
local taken = {}

local function hand_out(id, text)
  local site, entry = string.match(text, '^(%S*) %S* (.*)$')
  redis.call('ZADD', P .. ':claims', now, id)
  taken[#taken + 1], taken[#taken + 2], taken[#taken + 3] = id, site, entry
end

local late = redis.call('ZRANGE', P .. ':claims', '-inf', now - ARGV[4], 'BYSCORE', 'LIMIT', 0, most)
for _, id in ipairs(late) do hand_out(id, redis.call('HGET', P .. ':claimed', id)) end

most = most - #late
if ARGV[2] ~= '' then
  local site = load_site(ARGV[2])
  most = site and not site.paused and not site.draining and math.min(most, (room_for(site))) or 0
end
if most <= 0 or memory_is_short() then return {0, taken} end

-- Entries, each before its score, in the order in which scrapy-redis takes them.
local kind, popped = redis.call('TYPE', ARGV[1]).ok, {}
if kind == 'zset' then
  popped = redis.call('ZPOPMAX', ARGV[1], most)
elseif kind == 'list' or kind == 'set' then
  for _, entry in ipairs(redis.call(kind == 'list' and 'LPOP' or 'SPOP', ARGV[1], most) or {}) do
    popped[#popped + 1], popped[#popped + 2] = entry, ''
  end
elseif kind ~= 'none' then
  return {1, taken, kind}
end
if #popped > 0 and redis.call('EXISTS', ARGV[1]) == 0 then redis.call('HSET', P .. ':start_kinds', ARGV[1], kind) end
for i = 1, #popped, 2 do
  if #popped[i] > tonumber(ARGV[5]) then
    refuse_start(#popped[i] .. ' bytes are too many for an entry', string.sub(popped[i], 1, 1000))
  else
    local id = redis.call('HINCRBY', P .. ':starts', 'claimed', 1)
    local text = ARGV[2] .. ' ' .. popped[i + 1] .. ' ' .. popped[i]
    redis.call('HSET', P .. ':claimed', id, text)
    hand_out(id, text)
  end
end
return {0, taken}
