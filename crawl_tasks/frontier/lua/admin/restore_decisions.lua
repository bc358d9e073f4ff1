-- Restore decisions of operators about a site from the database, and carry them out where the site is published: a
-- Redis that lost its last writes, or is older, has forgotten them. A newer decision in Redis stays.
-- INCLUDES: lib/site guard/tables lib/admission lib/boards lib/decisions
-- FLAGS: allow-oom
-- KEYS 1: key prefix
-- ARGV 1: site
-- ARGV 2: token of the caller
-- ARGV 3..: subject and decision as JSON, see decisions.lua
-- RETURNS 0: {0, restored, 1 when the site was removed by this, and is to be wiped, else 0}

local name, now, restored, is_removed = ARGV[1], now_ms(), 0, 0

local function carry_out_of_board(site, act, id, value, at)
  if has_pending(name) then apply_board(name, id, now) end
  local line, terms = unpack(redis.call('HMGET', board_key(site, id), 'line', 'terms'))
  if not line then return end
  local interval, of = string.match(value, '^(%d+) (.*)$')
  if act == 'hold' and value == 'held' then hold_board(site, id, at)
  elseif act == 'hold' then release_board(site, id, now)
  elseif interval and of == terms then fix_board(site, id, interval, now)
  elseif value == 'file' then free_board(site, id, now) end
end

local function carry_out(site, subject, value, at)
  local act, id = string.match(subject, '^(%a+) (.*)$')
  if act then
    carry_out_of_board(site, act, id, value, at)
  elseif subject == 'gate' and redis.call('HEXISTS', site.key, 'paused_before') == 0 then
    decisions.apply_gate(name)
  elseif subject == 'site' and value == 'removed' and at < site.since then
    -- Published since, by a Redis that did not know of the removal.
    decisions.decide(name, 'site', 'published', '', redis.call('HGET', site.key, 'publisher') or '')
  elseif subject == 'site' and value == 'removed' then
    decisions.end_site(name, ARGV[2], 'remove')
    is_removed = 1
  elseif subject == 'site' and at > site.since or subject == 'data' and at > site.since then
    -- The site was removed and published again, or erased, since: what this Redis knows of it is of the life before.
    redis.call('HSET', P .. ':ages', 'older', now)
  elseif subject == 'guard' then
    begin_flush(site)
  elseif subject == 'file' then
    if value == 'gone' then
      redis.call('HSET', site.key, 'withdrawn', 1)
    else
      redis.call('HDEL', site.key, 'withdrawn')
    end
  end
end

for i = 3, #ARGV, 2 do
  local last, decision = decisions.last(name, ARGV[i]), cjson.decode(ARGV[i + 1])
  if not last or tonumber(last[1]) < tonumber(decision[1]) then
    redis.call('HSET', decisions.key(name), ARGV[i], ARGV[i + 1])
    restored = restored + 1
    local site = load_site(name)
    if site then carry_out(site, ARGV[i], decision[2], tonumber(decision[1])) end
  end
end
if restored > 0 then note_change({name = name}) end
if restored > 0 and load_site(name) then schedule_look({name = name}, now) end
return {0, restored, is_removed}
