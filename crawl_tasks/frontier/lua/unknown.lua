-- Say which of some requests the guard does not know; of a guard that forgets nothing can be said.
-- KEYS 1: key prefix
-- ARGV 1: site
-- ARGV 2..: lines
-- RETURNS 0: {0, place of an unknown line among those given, ...}
-- RETURNS -1: the site is not published

local site = load_site(ARGV[1])
if not site then return {-1} end

local function is_known(stage, fingerprint)
  local mode = stage_letter(site.guard, stage)
  if mode == 'e' then
    return redis.call('SISMEMBER', guard_bucket(guard_table(site, stage), fingerprint), fingerprint) == 1
  end
  if mode ~= 'b' then return true end
  local t = guard_table(site, stage .. '~')
  local probes = bloom_command(site, fingerprint, 'GET')
  for i = 0, math.floor(t.n / site.capacity) do
    if all_ones(redis.call('BITFIELD_RO', t.key .. i, unpack(probes))) then return true end
  end
  return false
end

local unknown = {}
for i = 2, #ARGV do
  local fingerprint, stage = string.match(ARGV[i], '^(%d+)%S* %p (%a+)')
  if not is_known(stage, fingerprint) then unknown[#unknown + 1] = i - 2 end
end
return {0, unpack(unknown)}
