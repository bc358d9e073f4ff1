-- Take the oldest rejected items: back into the outbox, to be stored, or away for good.
-- INCLUDES: lib/site lib/release
-- KEYS 1: key prefix
-- ARGV 1: most pages to take
-- ARGV 2: 1 to put them back, 0 to drop them
-- RETURNS 0: {0, pages taken}

local rejected = P .. ':rejected'
local entries = redis.call('XRANGE', rejected, '-', '+', 'COUNT', ARGV[1])
for _, entry in ipairs(entries) do
  local name, is_own, since = rejected_page(entry)
  if ARGV[2] == '1' then
    put_items({since = since}, now_ms(), entry[2][2])
    if not is_own then count_stored(name, -1) end  -- it counts as the present site's when it is stored
  elseif is_own then
    count_stored(name, 1)
  end
  redis.call('XDEL', rejected, entry[1])
end
return {0, #entries}
