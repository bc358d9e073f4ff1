-- The run of a verb, and its answer to a call that is sent a second time.
--
-- A caller whose connection broke cannot know whether its call took effect. For some verbs KEYS 2 names the call, as
-- "<caller> <call>", and " again" behind it when it is sent a second time. A caller makes one call at a time, so that
-- the last answer to each is kept: P:answers:MINUTE holds it by caller, until two minutes later. The end of a lease is
-- named by the lease, so that it gets the same answer whenever it is sent again. Of a lease that an answer gives only
-- number and token are kept, and the rest is read again.
-- INCLUDES: lib/site lib/lease
-- EXPORTS: run

local KEPT_MS = 60000

-- Raise counters of a hash: from three on, reading and writing all takes less than one command for each.
local function raise(key, counts)
  if #counts <= 2 then
    for _, field in ipairs(counts) do redis.call('HINCRBY', key, field, counts[field]) end
    return
  end
  for first = 1, #counts, CHUNK do
    local fields = {unpack(counts, first, math.min(first + CHUNK - 1, #counts))}
    local known, raised = redis.call('HMGET', key, unpack(fields)), {}
    for i, field in ipairs(fields) do raised[2 * i - 1], raised[2 * i] = field, (known[i] or 0) + counts[field] end
    redis.call('HSET', key, unpack(raised))
  end
end

local function answers_of(minute) return P .. ':answers:' .. minute end  -- eight digits, which Lua writes as they are

local LEASE, CHAIN = 12, 9  -- values in the answer of a lease, and of a commit that leased the next page

-- Return an answer without the lease that it gives, which stands behind it as {site, rid, token}.
local function shortened(reply, args)
  if #reply == LEASE then return {0, {args[1], args[2], reply[2]}} end
  if #reply ~= CHAIN then return reply end
  local short = {unpack(reply, 1, CHAIN - 3)}
  short[CHAIN - 2] = {reply[CHAIN - 1], string.match(reply[CHAIN][4], '^%d+'), reply[CHAIN][2]}
  return short
end

-- Return the answer that a call got before, or nil, also where the lease that it gave has ended.
local function answer_before(caller, call)
  local minute = math.floor(now_ms() / KEPT_MS)
  for at = minute, minute - 1, -1 do
    local kept = redis.call('HGET', answers_of(at), caller)
    if kept and string.sub(kept, 1, #call + 1) == call .. ' ' then
      local reply = cmsgpack.unpack(string.sub(kept, #call + 2))
      local given = type(reply[#reply]) == 'table' and #reply[#reply] == 3 and reply[#reply]
      if #reply ~= 2 and #reply ~= CHAIN - 2 or not given then return reply end
      local lease, message = lease_again(given[1], given[2], given[3])
      if not lease or #reply == 2 then return lease end
      reply[CHAIN - 2], reply[CHAIN - 1], reply[CHAIN] = message, given[1], lease
      return reply
    end
  end
end

local function keep_answer(caller, call, reply, args)
  local key = answers_of(math.floor(now_ms() / KEPT_MS))
  local text = call .. ' ' .. cmsgpack.pack(shortened(reply, args))
  if redis.call('HSET', key, caller, text) == 1 then redis.call('PEXPIRE', key, 2 * KEPT_MS) end
end

-- Write what a verb left to the end of its call: counters, and the wake-ups of queues that nobody emptied meanwhile.
local function finish()
  for key, counts in pairs(CALL.counts) do raise(key, counts) end
  for queue in pairs(CALL.wakes) do
    local key = P .. ':wake:' .. queue
    if redis.call('EXISTS', key) == 0 then redis.call('LPUSH', key, 1) end
  end
end

-- Run a verb. CALL holds what counts for this call alone: its time in us, its counters, the queues to wake, the pages
-- in the outbox.
function run(verb, keys, args)
  P, CALL = keys[1], {counts = {}, wakes = {}}
  if not keys[2] then
    local reply = verb(keys, args)
    finish()
    return reply
  end
  local blank = string.find(keys[2], ' ', 1, true)
  local caller, call = string.sub(keys[2], 1, blank - 1), string.sub(keys[2], blank + 1)
  local first = string.match(call, '^(%S+) again$')
  local before = first and answer_before(caller, first)
  if before then return before end
  call = first or call
  local reply = verb(keys, args)
  finish()
  if reply[1] == 0 then keep_answer(caller, call, reply, args) end
  -- A lease that is no more may have been ended by this same call.
  return reply[1] == -2 and answer_before(caller, call) or reply
end
