-- Remember threads of which fewer replies are stored than their lists count, or that they are whole again.
-- KEYS 1: key prefix
-- ARGV 1: site
-- ARGV 2: the most threads that are remembered
-- ARGV 3: 1 if the pairs are all such threads of the site, else 0
-- ARGV 4, 5, ...: pairs of a thread's id and "listed stored address", '' for one that is whole
-- RETURNS 0: {0}
-- RETURNS -1: the site is not published

local site = load_site(ARGV[1])
if not site then return {-1} end
local short = cjson.decode(ARGV[3] == '0' and redis.call('HGET', site.key, 'short') or '{}')
local count = 0
for _ in pairs(short) do count = count + 1 end
for place = 4, #ARGV, 2 do
  local id, text = ARGV[place], ARGV[place + 1]
  if text == '' then
    if short[id] then count = count - 1 end
    short[id] = nil
  elseif short[id] or count < tonumber(ARGV[2]) then
    if not short[id] then count = count + 1 end
    short[id] = text
  end
end
if count == 0 then
  redis.call('HDEL', site.key, 'short')
else
  redis.call('HSET', site.key, 'short', cjson.encode(short))
end
note_change(site)
return {0}
