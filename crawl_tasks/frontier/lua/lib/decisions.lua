-- The decisions of operators about a site and its boards. They outlive the site's own keys, and a store worker copies
-- them to the database.
--
-- P:underway holds what is done to a site in several calls, as "<token> <work>": remove, erase (remove, with what the
-- database has), recover (the wipe of a recovery), or restore (what follows). Whoever takes the work over has another
-- token, and the one before changes nothing any more. No site is published while it is being removed, erased or wiped.
--
-- P:decisions:SITE holds the last decision of each subject as a JSON array, [ms, value, who, why]. P:undecided names
-- those that the database lacks, as "site subject". Subjects, with their values:
--   gate             run, pause, drain
--   site             published, removed
--   file             there, gone
--   guard            flushed
--   data             erased: by the database alone, up to this time
--   hold BOARD       held, go
--   interval BOARD   "<ms> <terms of the site file>", file
-- INCLUDES: lib/site
-- EXPORTS: decisions

decisions = {}

function decisions.key(name) return P .. ':decisions:' .. name end

-- Return the last decision of a subject, as [ms, value, who, why] and as text, or nil.
function decisions.last(name, subject)
  local text = redis.call('HGET', decisions.key(name), subject)
  if text then return cjson.decode(text), text end
end

function decisions.value(name, subject)
  local last = decisions.last(name, subject)
  return last and last[2]
end

-- Remember a decision. Its time is above that of the decision before, and above `least`: the Redis before may have had
-- a clock that was ahead.
function decisions.decide(name, subject, value, who, why, least)
  local last = decisions.last(name, subject)
  local at = math.max(now_ms(), last and last[1] + 1 or 0, least or 0)
  redis.call('HSET', decisions.key(name), subject, cjson.encode({string.format('%.0f', at), value, who, why}))
  redis.call('SADD', P .. ':undecided', name .. ' ' .. subject)
end

-- Set the gate of a site to the last decision.
function decisions.apply_gate(name)
  local key, last, text = P .. ':s:' .. name, decisions.last(name, 'gate')
  local value = last and last[2] or 'run'
  redis.call('HSET', key, 'paused', value == 'pause' and 1 or 0)
  if value == 'drain' then redis.call('HSET', key, 'draining', 1) else redis.call('HDEL', key, 'draining') end
  if value == 'run' then redis.call('HDEL', key, 'decision') else redis.call('HSET', key, 'decision', text) end
end

-- Return the token and the work that is under way for a site, or nil.
function decisions.underway(name)
  return string.match(redis.call('HGET', P .. ':underway', name) or '', '^(%S*) (%a+)$')
end

-- End a site: from now on nothing of it is leased, committed or scanned, and wipe_site.lua deletes its keys.
function decisions.end_site(name, token, work)
  redis.call('HDEL', P .. ':sites', name)
  redis.call('UNLINK', P .. ':s:' .. name)
  redis.call('ZREM', P .. ':due', name)
  redis.call('HSET', P .. ':underway', name, token .. ' ' .. work)
end
