-- Pack start entries of a frozen site, so that they move with its keys: those that wait in a start key, and claims.
-- Nobody settles a claim that is packed.
-- INCLUDES: lib/site lib/release
-- FLAGS: allow-oom
-- KEYS 1: key prefix
-- ARGV 1: site
-- ARGV 2: token of the mover
-- ARGV 3: start key of the site
-- ARGV 4: most entries
-- RETURNS 0: {0, packed}
-- RETURNS 1: {1, 0}, another mover has taken over

if not holds_move('leaving', ARGV[1], ARGV[2]) then return {1, 0} end
local packed, most = 0, tonumber(ARGV[4])

local function pack(kind, score, entry)
  redis.call('RPUSH', P .. ':s:' .. ARGV[1] .. ':carried', cjson.encode({ARGV[3], kind, score, entry}))
  packed = packed + 1
end

-- A claim is of the site whose key it came from, or of the one that the entry names.
local function is_of_site(owner, entry)
  if owner ~= '' then return owner == ARGV[1] end
  local is_json, said = pcall(cjson.decode, entry)
  return is_json and type(said) == 'table' and said.site == ARGV[1]
end

for _, id in ipairs(redis.call('ZRANGE', P .. ':claims', 0, -1)) do  -- bounded: a batch of each process
  local owner, score, entry = string.match(redis.call('HGET', P .. ':claimed', id) or '', '^(%S*) (%S*) (.*)$')
  if owner and is_of_site(owner, entry) then
    redis.call('HDEL', P .. ':claimed', id)
    redis.call('ZREM', P .. ':claims', id)
    pack(start_kind(ARGV[3]), score, entry)
  end
end
local kind, popped = redis.call('TYPE', ARGV[3]).ok, {}
if kind == 'zset' then popped = redis.call('ZPOPMAX', ARGV[3], most) end
if kind == 'list' or kind == 'set' then
  for _, entry in ipairs(redis.call(kind == 'list' and 'LPOP' or 'SPOP', ARGV[3], most)) do
    popped[#popped + 1], popped[#popped + 2] = entry, ''
  end
end
for i = 1, #popped, 2 do pack(kind, popped[i + 1], popped[i]) end
note_change({name = ARGV[1]})
return {0, packed}
