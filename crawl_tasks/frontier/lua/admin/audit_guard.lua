-- Audit a guard table: count the addresses in some buckets, to be compared with the size that the table says.
-- INCLUDES: lib/site
-- KEYS 1: key prefix
-- ARGV 1: site
-- ARGV 2: table, as in the hash `seen`
-- ARGV 3: first bucket
-- ARGV 4: most buckets to count
-- RETURNS 0: {0, addresses counted, addresses that the table says, its buckets}
-- RETURNS 1: {1, 0, 0, 0}, the table has expired
-- RETURNS -1: the site is not published

local site = load_site(ARGV[1])
if not site then return {-1} end
local name, first = ARGV[2], tonumber(ARGV[3])
local v = redis.call('HMGET', site.key .. ':seen', name .. ':n', name .. ':m')
local n, m = tonumber(v[1] or 0), tonumber(v[2] or 1)
local window = tonumber(string.match(name, '@(%d+)$'))
local is_full = string.sub(name, 1, 5) == 'full-'
local span = is_full and site.terms.full_pass_ms > 0 and site.terms.full_pass_ms or site.terms.rolling_ms
local current = window and math.floor(now_ms() / span)
if window and site.terms.guard_length > 0 and not is_full then  -- windows by length are counted
  current = tonumber(redis.call('HGET', site.key .. ':seen', string.match(name, '^(.*)@') .. ':w') or 1)
end
if window and window ~= current and window ~= current - 1 then return {1, 0, 0, 0} end  -- or of another span

local key, counted = site.key .. ':seen:' .. name .. ':', 0
if string.sub(name, -1) == '~' then  -- of a bloom filter only its bitmaps can be counted
  m = math.floor(math.max(0, n - 1) / site.terms.guard_capacity) + 1
  for i = first, math.min(m, first + tonumber(ARGV[4])) - 1 do
    local held = i < m - 1 and site.terms.guard_capacity or n - (m - 1) * site.terms.guard_capacity
    if n == 0 or redis.call('EXISTS', key .. i) == 1 then counted = counted + held end
  end
else
  for i = first, math.min(m, first + tonumber(ARGV[4])) - 1 do
    counted = counted + redis.call('SCARD', key .. i)
  end
end
return {0, counted, n, m}
