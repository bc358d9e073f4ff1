-- End claims of start entries: admit the request of each, or reject the entry with a reason. While a site is at its
-- backlog limit its entries wait in front of the site's own key. A claim that has ended already is left alone.
-- INCLUDES: lib/site lib/admission lib/backlog_limit lib/release
-- KEYS 1: key prefix
-- ARGV 1..: of each claim its id, its site or '' to refuse it, its lines or the reason, and the site's own key
-- RETURNS 0: {0, new, known, waiting again, refused}

local now = now_ms()
local sites, waiting, refused = {}, {}, 0

local function site_of(name)
  if sites[name] == nil then
    sites[name] = load_site(name) or false
    if sites[name] then sites[name].plan.room = room_for(sites[name]) end
  end
  return sites[name]
end

for i = 1, #ARGV, 4 do
  local id, name, line = ARGV[i], ARGV[i + 1], ARGV[i + 2]
  local text = redis.call('HGET', P .. ':claimed', id)
  local site = text and name ~= '' and site_of(name)
  if text then
    local score, entry = string.match(text, '^%S* (%S*) (.*)$')
    redis.call('HDEL', P .. ':claimed', id)
    redis.call('ZREM', P .. ':claims', id)
    if not site then
      refused = refused + 1
      refuse_start(name == '' and line or 'site ' .. name .. ' is not published', entry)
    elseif site.page.fresh >= site.plan.room then
      waiting[#waiting + 1] = {key = ARGV[i + 3], score = score, entry = entry}
    else
      for one in string.gmatch(line, '[^\n]+') do admit_line(site, one, now) end
    end
  end
end

-- Backwards, since each goes to the front: the entries stand in their old order again.
for i = #waiting, 1, -1 do
  local one = waiting[i]
  return_start(one.key, start_kind(one.key), one.score, one.entry, true)
end

local new, known = 0, 0
for _, site in pairs(sites) do
  if site then
    flush_admission(site)
    release(site, now)
    if site.page.fresh > 0 then schedule_look(site, now + 1000) end
    new, known = new + site.page.fresh, known + site.page.known
  end
end
redis.call('HINCRBY', P .. ':starts', 'new', new)
redis.call('HINCRBY', P .. ':starts', 'known', known)
return {0, new, known, #waiting, refused}
