-- Change the scan schedule of a site's boards for an operator: their interval, or the next scan.
-- `fix` sets an interval that holds until the site file gives the board another. `free` goes back to the site file's.
-- `now` makes boards due. `walk` does too, and a walk to the end of the list follows it, with or without news. `hold`
-- takes boards out of the schedule. `go` puts them back, due at once.
-- INCLUDES: lib/site lib/admission lib/boards lib/decisions
-- KEYS 1: key prefix
-- ARGV 1: site
-- ARGV 2: fix, free, now, walk, hold or go
-- ARGV 3: interval in ms, for fix
-- ARGV 4: who decided
-- ARGV 5: why
-- ARGV 6..: boards
-- RETURNS 0: {0, boards changed, boards that are held and stay so}
-- RETURNS -1: the site is not published

local site = load_site(ARGV[1])
if not site then return {-1, 0, 0} end
local now, act, is_pending = now_ms(), ARGV[2], has_pending(site.name)
local changed, held = 0, 0

for i = 6, #ARGV do
  local id = ARGV[i]
  local key = board_key(site, id)
  if is_pending then apply_board(site.name, id, now) end
  local v = redis.call('HMGET', key, 'line', 'terms', 'held')
  if v[1] then
    if act == 'walk' then walk_whole(site, id) end
    if act == 'fix' then
      fix_board(site, id, ARGV[3], now)
      -- The remedy of a gap: the next one is told again.
      if string.match(redis.call('HGET', site.key, 'scan_gap') or '', '^%d+ %d+ (.*)$') == id then
        redis.call('HDEL', site.key, 'scan_gap')
      end
      decisions.decide(site.name, 'interval ' .. id, ARGV[3] .. ' ' .. (v[2] or ''), ARGV[4], ARGV[5])
      changed = changed + 1
    elseif act == 'free' then
      free_board(site, id, now)
      decisions.decide(site.name, 'interval ' .. id, 'file', ARGV[4], ARGV[5])
      changed = changed + 1
    elseif act == 'hold' then
      hold_board(site, id, now)
      decisions.decide(site.name, 'hold ' .. id, 'held', ARGV[4], ARGV[5])
      changed = changed + 1
    elseif act == 'go' then
      release_board(site, id, now)
      decisions.decide(site.name, 'hold ' .. id, 'go', ARGV[4], ARGV[5])
      changed = changed + 1
    elseif v[3] then
      held = held + 1
    else
      plan_board(site, id, now)
      changed = changed + 1
    end
  end
end
note_change(site)
return {0, changed, held}
