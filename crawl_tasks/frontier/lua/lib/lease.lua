-- Leases, and the next page of a chain.
-- INCLUDES: lib/site lib/admission lib/circuit_breaker lib/http_validator lib/release lib/slots
-- EXPORTS: read_tail lease_request lease_again lease_next

-- Return the tail of a thread, and the token of the page that told it, 0 for unknown, from "<tail>.<token>".
function read_tail(text)
  local tail, token = string.match(text or '', '^(%d+)%.(%d+)$')
  return tonumber(tail or 0), tonumber(token or 0)
end

-- Return the answer of lease.lua that gives a lease.
local function lease_reply(site, rid, token, work, deadline, begins, ends, now)
  local stage, attempt, payload = string.match(work, WIRE.work.stage_attempt_payload)
  local tail, validator = 0, ''
  if stage == 'list' then
    validator = find_validator(site, payload, tonumber(attempt), now)
  else
    local id = cjson.decode(payload)[1]
    tail = read_tail(redis.call('HGET', site.key .. ':tail:' .. string.sub(id, 1, -3), id))
  end
  return {0, token, tonumber(attempt), rid .. ' ' .. work, site.version, tail, string.format('%.0f', deadline),
    validator, math.ceil(site.delay), now_us(), math.ceil(begins), math.floor(ends)}
end

-- Lease a released request of a site, or return it to its ready list where the gate refuses it. Return the reply of
-- lease.lua. `ready` are the ms until the caller can send, `slack` those by which the caller may send late.
function lease_request(site, rid, now, ready, slack)
  local held = redis.call('HGET', site.key .. ':open', rid)
  if not held then return {-2} end
  local token, stage, level, attempt, request = string.match(held, WIRE.held.token_stage_priority_attempt_request)
  if token ~= '0' then return {-3} end

  local refusal = (site.paused and -4)
    or ((site.leased or redis.call('ZCARD', site.key .. ':leased')) >= site.window and -5)
    or (site.next_at > now + (site.delay > 0 and AHEAD or 0) and -6)
    or (store_is_behind() and -7)
    or ((probe_at(site, stage) or 0) > now and -8)
  if refusal then
    tally(site, 'refused:' .. refusal, 1)
    redis.call('ZREM', site.key .. ':released:' .. stage, rid)
    redis.call('HDEL', site.key .. ':open', rid)
    return_ready(site, WIRE.write_entry(rid, stage, level, attempt, request))
    schedule_look(site, math.max(site.next_at - site.lead, now + (refusal == -7 and 1000 or 50)))
    note_change(site)
    return {refusal}
  end

  if site.open_breakers[stage] then
    -- The next probe, if this one hangs or its worker dies. Else the result of this one plans it.
    plan_probe(site, stage, now + until_next_probe(site, stage, now), rid)
  end
  attempt = attempt + 1
  local begins, ends = math.max(site.next_at, now + ready), 0
  if site.terms.daily_budget > 0 then spend(site, site.delay > 0 and begins or now) end
  -- A token is a time or above, so that a Redis that lost its last writes gives no token a second time, and so that
  -- tokens order the observations made under them.
  token = string.format('%.0f', math.max(now, site.fence + 1))
  site.fence, site.attempts = tonumber(token), site.attempts + 1
  redis.call('HSET', site.key, 'fence', token, 'attempts', site.attempts)
  local work = WIRE.write_work(stage, level, attempt, request)
  redis.call('HSET', site.key .. ':open', rid, token .. ' ' .. work)
  local released_at = tonumber(redis.call('ZSCORE', site.key .. ':released:' .. stage, rid) or now)
  measure(P .. ':stats', 'wait:' .. stage, TIMES_MS, math.max(0, now - math.floor(released_at)))
  redis.call('ZREM', site.key .. ':released:' .. stage, rid)
  if site.delay > 0 then
    learn_lead(site, now, released_at, ready)
    ends = reserve(site, token, begins, math.min(slack, site.delay / 2), true)
  end
  local deadline = site.delay > 0 and ends + site.terms.lease_ms or now + site.terms.lease_ms
  redis.call('ZADD', site.key .. ':leased', deadline, rid)
  schedule_look(site, deadline)
  note_change(site)
  return lease_reply(site, rid, token, work, deadline, begins, ends, now)
end

-- Return the answer of a lease that was given before and holds, and the message that led to it, or nil.
function lease_again(name, rid, token)
  local site = load_site(name)
  local held = site and redis.call('HGET', site.key .. ':open', rid)
  local holder, work = string.match(held or '', WIRE.held.token_work)
  local deadline = redis.call('ZSCORE', P .. ':s:' .. name .. ':leased', rid)
  if holder ~= token or not deadline then return nil end
  local stage, address = string.match(work, WIRE.work.stage_address)
  local queue, now = queue_of(site, stage), now_ms()
  local ends = site.delay > 0 and math.floor(deadline) - site.terms.lease_ms or 0  -- past by now, it is reserved anew
  return lease_reply(site, rid, token, work, math.floor(deadline), math.min(now, ends), ends, now),
    HINTS[stage](name, rid, address, queue, string.format('%.0f', now))
end

local MOST_REFUSED = 3  -- messages of sites that stand still, after which a chain ends

-- Take the oldest message off the first of some queues that has one, and lease its request, in the name of the worker
-- that commits a page. `terms` are "<ready> <slack> <queue> <queue> ..", or ''. Return the message, its site and the
-- reply of lease.lua, or nothing.
-- A message that the frontier did not write stays: receive.lua records such messages, so that no crash loses them.
function lease_next(site, now, terms)
  if terms == '' then return end
  local ready, slack, queues = string.match(terms, '^(%S+) (%S+) (.*)$')
  local pop = {}
  for queue in string.gmatch(queues, '%S+') do pop[#pop + 1] = queue end
  local lists = #pop
  pop[lists + 1] = 'RIGHT'
  for _ = 1, MOST_REFUSED do
    local popped = redis.call('LMPOP', lists, unpack(pop))
    if not popped then return end
    local queue, message = popped[1], popped[2][1]
    -- With blanks where a worker put it back at its end, as kombu writes JSON.
    local name, rid = string.match(message, '"body": ?"%[%[%], ?{\\"site\\": ?\\"([%w_-]+)\\", ?\\"rid\\": ?(%d+)}')
    if not name or not string.find(message, '"crawl_at":', 1, true) then
      redis.call('RPUSH', queue, message)
      return
    end
    -- No other worker need wake up for a queue that is empty now.
    if redis.call('EXISTS', queue) == 0 then
      CALL.wakes[queue] = nil
      redis.call('UNLINK', P .. ':wake:' .. queue)
    end
    local its_site = name == site.name and site or load_site(name)
    local reply = its_site and lease_request(its_site, rid, now, ready, slack)
    if reply and reply[1] == 0 then return message, name, reply end
  end
end
