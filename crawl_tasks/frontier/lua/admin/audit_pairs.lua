-- Audit a hash and the sorted set of its times: each name in one must stand in the other.
-- INCLUDES: lib/site
-- KEYS 1: key prefix
-- ARGV 1: unacked (messages of other programs) or claims (claimed start entries)
-- ARGV 2: hash or times
-- ARGV 3: cursor, 0 to begin
-- ARGV 4: 1 to mend the flaws that can be mended here
-- RETURNS 0: {0, next cursor (0 at the end), {flaw, name, 1 when mended, ...}}

local is_claim, mend = ARGV[1] == 'claims', ARGV[4] == '1'
local hash = P .. (is_claim and ':claimed' or ':unacked')
local times = P .. (is_claim and ':claims' or ':unacked_index')
local flaws = {}

local function note(flaw, name, command, ...)
  if mend then redis.call(command, times, ...) end
  for _, value in ipairs({flaw, name, mend and 1 or 0}) do flaws[#flaws + 1] = value end
end

local is_hash = ARGV[2] == 'hash'
local page = redis.call(is_hash and 'HSCAN' or 'ZSCAN', is_hash and hash or times, ARGV[3], 'COUNT', CHUNK)
for i = 1, #page[2], 2 do
  local name = page[2][i]
  if is_hash and not redis.call('ZSCORE', times, name) then
    note('stranded', name, 'ZADD', 0, name)  -- long ago, so that it is handed out again at once
  elseif not is_hash and redis.call('HEXISTS', hash, name) == 0 then
    note('empty', name, 'ZREM', name)
  end
end
return {0, page[1], flaws}
