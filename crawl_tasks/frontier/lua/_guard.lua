-- Shared by every script, behind _site.lua: what a site's stages have seen.
-- A table of fingerprints by linear hashing (Litwin 1980): bucket n is split when the table outgrows its
-- buckets, one at a time, so each set stays a small intset and no rehash is ever long.

local BUCKET = 200    -- mean members of a guard set; a set stays an intset up to 512 (set-max-intset-entries)

-- The remainder of a decimal string of up to 19 digits by a power of two, exact where doubles are not.
local function remainder(digits, modulus)
  local high, low = tonumber(string.sub(digits, 1, -11)) or 0, tonumber(string.sub(digits, -10))
  return ((high % modulus) * (10000000000 % modulus) + low) % modulus
end

local function guard_table(site, name)
  local t = site.guards[name]
  if t then return t end
  local v = redis.call('HMGET', site.key .. ':guard', name .. ':n', name .. ':m')
  t = {key = site.key .. ':g:' .. name .. ':', n = tonumber(v[1] or 0), m = tonumber(v[2] or 1), name = name}
  t.round = 1
  while t.round * 2 <= t.m do t.round = t.round * 2 end
  site.guards[name] = t
  return t
end

local function guard_bucket(t, fingerprint)
  local b = remainder(fingerprint, t.round * 2)
  if b >= t.m then b = b - t.round end
  return t.key .. b
end

local function guard_split(t)
  local from, to = t.m - t.round, t.m
  local moved = {}
  for _, f in ipairs(redis.call('SMEMBERS', t.key .. from)) do  -- bounded: about 2 * BUCKET
    if remainder(f, t.round * 2) ~= from then moved[#moved + 1] = f end
  end
  for i = 1, #moved, CHUNK do
    local last = math.min(i + CHUNK - 1, #moved)
    redis.call('SADD', t.key .. to, unpack(moved, i, last))
    redis.call('SREM', t.key .. from, unpack(moved, i, last))
  end
  if t.expires then redis.call('PEXPIREAT', t.key .. to, t.expires) end
  t.m = t.m + 1
  if t.m == t.round * 2 then t.round = t.m end
end

local function guard_insert(t, fingerprint)
  local key = guard_bucket(t, fingerprint)
  if redis.call('SADD', key, fingerprint) == 0 then return false end
  if t.expires then redis.call('PEXPIREAT', key, t.expires) end
  t.n, t.dirty = t.n + 1, true
  if t.n > t.m * BUCKET then guard_split(t) end
  return true
end

-- Bloom filters (Bloom 1970) of PROBES bits a fingerprint, in bitmaps that hold `capacity` fingerprints each; a full one
-- is followed by the next. At 24 bits a fingerprint a full filter takes 1 of 100,000 strangers for an acquaintance.
local PROBES, BITS = 17, 24

-- Two halves of a fingerprint give all its places (Kirsch and Mitzenmacher 2006).
local function bloom_command(site, fingerprint, operation, value)
  local size = site.capacity * BITS
  local at, step = tonumber(string.sub(fingerprint, -10)), (tonumber(string.sub(fingerprint, 1, -11)) or 0) + 1
  local words = {}
  for i = 1, PROBES do
    words[#words + 1], words[#words + 2], words[#words + 3] = operation, 'u1', string.format('%.0f', (at + i * step) % size)
    words[#words + 1] = value
  end
  return words
end

local function all_ones(bits)
  for _, bit in ipairs(bits) do
    if bit == 0 then return false end
  end
  return true
end

local function bloom_insert(site, t, fingerprint)
  local current = math.floor(t.n / site.capacity)
  if current > 0 then
    local probes = bloom_command(site, fingerprint, 'GET')
    for i = 0, current - 1 do
      if all_ones(redis.call('BITFIELD_RO', t.key .. i, unpack(probes))) then return false end
    end
  end
  if all_ones(redis.call('BITFIELD', t.key .. current, unpack(bloom_command(site, fingerprint, 'SET', 1)))) then return false end
  t.n, t.dirty = t.n + 1, true
  return true
end

-- Forget what is noted of a table's windows but the last two; their buckets end by themselves.
local function guard_prune(site, name, window)
  for _, field in ipairs(redis.call('HKEYS', site.key .. ':guard')) do  -- bounded: two windows of each table
    local of, number = string.match(field, '^(.*)@(%d+):%a$')
    number = tonumber(number)
    if of == name and number ~= window and number ~= window - 1 then redis.call('HDEL', site.key .. ':guard', field) end
  end
end

-- Enter a fingerprint; say whether it was new. `rolling` keeps two windows: seeing it again prolongs nothing.
local function guard_rolls(site, name, span, fingerprint, now)
  local window = math.floor(now / span)
  local before = guard_table(site, name .. '@' .. (window - 1))
  if before.n > 0 and redis.call('SISMEMBER', guard_bucket(before, fingerprint), fingerprint) == 1 then return false end
  local current = guard_table(site, name .. '@' .. window)
  current.expires = (window + 2) * span
  if current.n == 0 then guard_prune(site, name, window) end
  return guard_insert(current, fingerprint)
end

-- What a full pass saw is remembered apart, and no longer than its period.
local function guard_admits(site, stage, fingerprint, now, is_full)
  if is_full then return guard_rolls(site, 'full-' .. stage, site.full > 0 and site.full or site.rolling, fingerprint, now) end
  local mode = stage_letter(site.guard, stage)
  if mode == 'o' then return true end
  if mode == 'e' then return guard_insert(guard_table(site, stage), fingerprint) end
  if mode == 'b' then return bloom_insert(site, guard_table(site, stage .. '~'), fingerprint) end
  return guard_rolls(site, stage, site.rolling, fingerprint, now)
end

-- Say whether a fingerprint was entered, and enter nothing.
local function guard_holds(site, stage, fingerprint, now)
  local function is_in(t) return redis.call('SISMEMBER', guard_bucket(t, fingerprint), fingerprint) == 1 end
  local mode = stage_letter(site.guard, stage)
  if mode == 'o' then return true end
  if mode == 'e' then return is_in(guard_table(site, stage)) end
  if mode == 'r' then
    local window = math.floor(now / site.rolling)
    return is_in(guard_table(site, stage .. '@' .. window)) or is_in(guard_table(site, stage .. '@' .. (window - 1)))
  end
  local t, probes = guard_table(site, stage .. '~'), bloom_command(site, fingerprint, 'GET')
  for i = 0, math.floor(t.n / site.capacity) do
    if all_ones(redis.call('BITFIELD_RO', t.key .. i, unpack(probes))) then return true end
  end
  return false
end

-- Where hubs name threads too, a thread is known without its revision as well: what names it again asks for nothing.
local function guard_name(site, stage, at_all, now)
  if site.has_hubs and at_all ~= '' then guard_admits(site, stage, at_all, now) end
end
