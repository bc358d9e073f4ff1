-- Pages behind a login that do not say who asked for them. Until the check page shows a member, nobody knows whether
-- they are a guest's. The hash of the session holds their lines, in the order in which they came.
-- INCLUDES: lib/site lib/admission
-- EXPORTS: CHECK_AFTER pending_of keep_pending read_again ask_for_check

local CHECK_EVERY = 600000  -- ms. Between the scans of a site that is crawled on and on
CHECK_AFTER = 200  -- pages. Half a percent of the requests

-- Return the lines of unproven pages, the number of those before them, and the token of their session.
function pending_of(site)
  local v = redis.call('HMGET', site.key .. ':session', 'pending', 'proven', 'pending_of')
  return v[1] and cjson.decode(v[1]) or {}, tonumber(v[2] or 0), v[3]
end

-- Keep the lines behind the first `gone` ones.
function keep_pending(site, lines, gone, before)
  local key, kept = site.key .. ':session', {}
  for i = gone + 1, #lines do kept[#kept + 1] = lines[i] end
  redis.call('HSET', key, 'proven', string.format('%.0f', before + gone))
  if #kept == 0 then redis.call('HDEL', key, 'pending') else redis.call('HSET', key, 'pending', cjson.encode(kept)) end
end

-- Enter pages again.
function read_again(site, lines, now)
  local page = site.page
  local fresh, known = page.fresh, page.known
  page.known = 0
  for _, line in ipairs(lines) do admit_line(site, line, now) end
  flush_admission(site)
  page.fresh, page.known = fresh, known
end

-- Have a site that is idle now read one of its unproven pages again, and look at the check page then. Return whether it
-- does.
function ask_for_check(site, now)
  local lines, before = pending_of(site)
  if #lines == 0 then return false end
  local checked_at = tonumber(redis.call('HGET', site.key .. ':session', 'checked_at') or 0)
  if redis.call('SISMEMBER', P .. ':only', site.name) == 0 and now - checked_at < CHECK_EVERY then return false end
  keep_pending(site, lines, 1, before)
  redis.call('HSET', site.key .. ':session', 'check_now', 1)
  read_again(site, {lines[1]}, now)
  return true
end
