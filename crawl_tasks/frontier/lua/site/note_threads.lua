-- Remember threads of which fewer replies are stored than their lists count, or that they are whole again.
-- INCLUDES: lib/site lib/admission lib/release
-- KEYS 1: key prefix
-- ARGV 1: site
-- ARGV 2: the most threads that are remembered
-- ARGV 3: 1 if the pairs are all such threads of the site, else 0
-- ARGV 4..: of each thread its id, "listed stored address" or '' for one that is whole, and the line by which it is
--   read once more, '' for none
-- RETURNS 0: {0, threads that are read once more}
-- RETURNS -1: the site is not published

local MOST, RARE = WIRE.limits.short_in_a_row, WIRE.limits.short_rare

local site = load_site(ARGV[1])
if not site then return {-1, 0} end
local now, is_all = now_ms(), ARGV[3] == '1'
local short = cjson.decode(not is_all and redis.call('HGET', site.key, 'short') or '{}')
local count = 0
for _ in pairs(short) do count = count + 1 end
for place = 4, #ARGV, 3 do
  local id, text, line = ARGV[place], ARGV[place + 1], ARGV[place + 2]
  if text == '' then
    if short[id] then count = count - 1 end
    short[id] = nil
  elseif short[id] then
    short[id] = text
  elseif count < tonumber(ARGV[2]) then
    count = count + 1
    short[id] = text
    -- The guard lets it pass once for a revision. One that it knows has stayed short, and keeps its place in the count.
    -- A site that is paused or drains begins nothing.
    if line ~= '' and not (site.paused or site.draining) and (count <= MOST or count % RARE == 0) then
      admit_line(site, line, now)
    end
  end
end
if count == 0 then
  redis.call('HDEL', site.key, 'short')
else
  redis.call('HSET', site.key, 'short', cjson.encode(short))
end
if site.page.fresh > 0 then
  flush_admission(site)
  release(site, now)
  schedule_look(site, now + 1000)
end
note_change(site)
return {0, site.page.fresh}
