-- The storage of a guard of mode `bloom`: Bloom filters (Bloom 1970) of PROBES bits a fingerprint, in bitmaps that hold
-- `capacity` fingerprints each. After a full one comes the next. At 24 bits a fingerprint a full filter has a
-- false-positive rate of 1e-5. A filter keeps no revision beside an address, it holds pairs of both: an address that
-- returns to an earlier revision is known.
-- SHARES: bloom_holds bloom_insert

local PROBES, BITS = 17, 24

-- Two halves of a fingerprint give all its places (double hashing, Kirsch and Mitzenmacher 2006).
local function bloom_command(site, address, rest, revision, operation, value)
  local size, high, low = site.terms.guard_capacity * BITS, math.floor(address / 256), address % 256 * 65536 + rest
  local at, step = (high + revision * 2654435761) % 4294967296, (low + revision * 40503) % 16777216 * 256 + 1
  local words = {}
  for i = 1, PROBES do
    words[#words + 1], words[#words + 2] = operation, 'u1'
    words[#words + 1] = string.format('%.0f', (at + i * step) % size)
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

function bloom_holds(site, t, address, rest, revision, filters)
  local probes = bloom_command(site, address, rest, revision, 'GET')
  for i = 0, filters - 1 do
    if all_ones(redis.call('BITFIELD_RO', t.key .. i, unpack(probes))) then return true end
  end
  return false
end

function bloom_insert(site, t, address, rest, revision)
  local current = math.floor(t.n / site.terms.guard_capacity)
  if bloom_holds(site, t, address, rest, revision, current) then return false end
  local set = bloom_command(site, address, rest, revision, 'SET', 1)
  if all_ones(redis.call('BITFIELD', t.key .. current, unpack(set))) then return false end
  t.n, t.dirty = t.n + 1, true
  return true
end
