-- Drop requests of a site that nobody has begun, ready, released or delayed: each counts as done, and as dropped. The
-- outbox tells the database. Pages that are being fetched end.
-- INCLUDES: lib/site lib/release
-- KEYS 1: key prefix
-- ARGV 1: site
-- ARGV 2: most requests to drop
-- RETURNS 0: {0, dropped}
-- RETURNS -1: the site is not published

local site = load_site(ARGV[1])
if not site then return {-1, 0} end
local now, most, dropped = now_ms(), tonumber(ARGV[2]), 0

local function drop(entry)
  drop_request(site, entry, true, now)
  dropped = dropped + 1
end

for _, stage in ipairs(STAGES) do
  for _, key in ipairs(ready_keys(site, stage)) do
    for _, entry in ipairs(dropped < most and redis.call('LPOP', key, most - dropped) or {}) do drop(entry) end
  end
  local released = site.key .. ':released:' .. stage
  for _, rid in ipairs(dropped < most and redis.call('ZRANGE', released, 0, most - dropped - 1) or {}) do
    redis.call('ZREM', released, rid)
    local held = redis.call('HGET', site.key .. ':open', rid)
    redis.call('HDEL', site.key .. ':open', rid)
    if held then drop(rid .. ' ' .. string.match(held, WIRE.held.work)) end
  end
end
local delayed = site.key .. ':delayed'
for _, entry in ipairs(dropped < most and redis.call('ZRANGE', delayed, 0, most - dropped - 1) or {}) do
  redis.call('ZREM', delayed, entry)
  drop(entry)
end
note_change(site)
return {0, dropped}
