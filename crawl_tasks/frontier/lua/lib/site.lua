-- The clock of a call, a site with its terms and its state, its counters. In front of all files stand HINTS, the
-- ready-made messages, TIMES_MS and AGES_S, the bounds of histograms, OUTBOX_MAX, the most pages that may wait for the
-- store, and WIRE, the codes of frontier/wire.
--
-- Every script takes KEYS 1: the key prefix P. All other keys are derived from P, as keys.py lists them, because one
-- call may touch many sites. Each verb describes its ARGV.
--
-- An entry is one request as text. A line is a request that asks for admission, and guard.lua knows it by its word. In
-- `open` the entry stands without its rid, behind the token of its lease (0: released, nobody holds it).
-- frontier/wire/entry_format.py has the fields and the flags. WIRE.entry.stage_address is the pattern that captures
-- these two fields of an entry.
-- INCLUDES: lib/backoff lib/quiet_hours
-- EXPORTS: P CALL STAGES CHUNK BACKFILL MOST_LOOKS GRACE ONLY_MS COMING now_ms now_us numbers_in gate_opens_at
-- EXPORTS: pack_terms load_site STAGE_AT queue_of ready_key ready_keys tally measure fetch_ms_of count_effort
-- EXPORTS: note_change schedule_look holds_move

STAGES = WIRE.stages
STAGE_AT = WIRE.stage_at
CHUNK = 1000    -- values in one variadic call, as Lua's stack holds about 8,000
BACKFILL = 2    -- highest priority of backfill: first scans, walks, full passes, and what they find
MOST_LOOKS = 50   -- pages of HSCAN that one call goes through, of about 100 each
GRACE = 5000    -- ms that a message may be out of its queue and not leased, twice, before it is taken for lost

-- A command that serves this Redis alone may keep other sites waiting for so many ms, until it says so again.
ONLY_MS = 60000
COMING = 1000   -- ms for which a released message is taken to be on its way to a worker

local MOST_DECODED = 500  -- packed terms that the library remembers

-- Count in a hash. run() of answers.lua writes it at the end of the call.
local function count(key, field, n)
  local counts = CALL.counts[key]
  if not counts then
    counts = {}
    CALL.counts[key] = counts
  end
  if not counts[field] then counts[#counts + 1] = field end
  counts[field] = (counts[field] or 0) + n
end

-- The time of a call is that of its beginning.
function now_us()
  if not CALL.us then
    local t = redis.call('TIME')
    CALL.us = t[1] * 1000000 + t[2]
  end
  return CALL.us
end

function now_ms() return math.floor(now_us() / 1000) end

function numbers_in(text)
  local numbers = {}
  for number in string.gmatch(text or '', '-?%d+') do numbers[#numbers + 1] = tonumber(number) end
  return numbers
end

-- Return the time at which the gate of a site opens, ms: the next slot, or later in quiet hours or without budget
-- today.
function gate_opens_at(next_at, quiet, budget, offsets, spent)
  local slot = tonumber(next_at or 0)
  if (quiet or '') == '' and tonumber(budget or 0) <= 0 then return slot end
  return math.max(slot, opens_at(now_ms(), offsets or '', quiet or '', tonumber(budget or 0), spent))
end

-- Return whether all sites stand still, or all but those of a command that serves this Redis alone, or this one, which
-- moves.
local function is_halted(name)
  if redis.call('EXISTS', P .. ':halt', P .. ':only', P .. ':leaving') == 0 then return false end
  return redis.call('EXISTS', P .. ':halt') == 1 or redis.call('HEXISTS', P .. ':leaving', name) == 1
    or redis.call('EXISTS', P .. ':only') == 1 and redis.call('SISMEMBER', P .. ':only', name) == 0
end

-- Return whether a mover's token is the last one. `role` is leaving or arriving.
function holds_move(role, name, token)
  return string.match(redis.call('HGET', P .. ':' .. role, name) or '', '^%S+') == token
end

-- Return a text of one word per stage as a table by stage.
local function by_stage(text)
  local words, by = {}, {}
  for word in string.gmatch(text, '%S+') do words[#words + 1] = word end
  for place, stage in ipairs(STAGES) do by[stage] = words[place] end
  return by
end

-- Return the terms of a site, each from its own field.
local function read_terms(key)
  local values, terms = redis.call('HMGET', key, unpack(WIRE.term_names)), {}
  for i, term in ipairs(WIRE.terms) do
    local value = values[i] or term.default
    if term.type == 'number' then value = tonumber(value) elseif term.type == 'stages' then value = by_stage(value) end
    terms[term.name] = value
  end
  return terms
end

-- Keep the terms of a version in one field: a read of each on its own is a tenth of what a page costs.
function pack_terms(key, version) redis.call('HSET', key, 'terms', version .. ' ' .. cjson.encode(read_terms(key))) end

local function is_whole(terms)
  if type(terms) ~= 'table' then return false end
  for _, name in ipairs(WIRE.term_names) do
    if terms[name] == nil then return false end
  end
  return true
end

-- The terms of the last sites, by the text that they were read from: decoding costs more than all other reads of a
-- site. All calls share these tables, so that nobody may write to one.
local decoded, decoded_count = {}, 0

-- Return the terms, out of the one field where it is of this version and whole: an error here would stop the ticks of
-- all sites.
local function terms_of(key, version, packed)
  if not packed or string.sub(packed, 1, #version + 1) ~= version .. ' ' then return read_terms(key) end
  local terms = decoded[packed]
  if terms then return terms end
  local is_json, found = pcall(cjson.decode, string.sub(packed, #version + 2))
  if not is_json or not is_whole(found) then return read_terms(key) end
  if decoded_count >= MOST_DECODED then decoded, decoded_count = {}, 0 end
  decoded[packed], decoded_count = found, decoded_count + 1
  return found
end

-- Return a site, or nil for one that is not published: its terms, which nobody changes, its state, the `page` at hand
-- with the tables of the guard that it met, and the `plan` of its scans.
function load_site(name)
  local key = P .. ':s:' .. name
  local state = WIRE.state_of(redis.call('HMGET', key, unpack(WIRE.state_names)))
  if not state.version then return nil end
  local terms = terms_of(key, state.version, state.terms)
  local file_delay = math.max(terms.delay_ms, state.crawl_delay_ms)
  local delay, window = backed_off(state.slow, file_delay, terms.window)
  return {
    name = name, key = key, version = state.version, terms = terms,
    paused = state.paused or is_halted(name), is_withdrawn = state.withdrawn,
    draining = state.draining or state.withdrawn,
    next_at = gate_opens_at(state.next_at, terms.quiet, terms.daily_budget, terms.offsets, state.spent),
    window = window, delay = delay, file_delay = file_delay, slow = state.slow, lead = state.lead, spent = state.spent,
    found = state.found, max_children = state.max_children, credit = state.credit, levels = state.levels,
    open_breakers = state.breaker, results = state.results, flushes = state.flushes, flushing = state.flushing,
    failed_in_a_row = state.failed_in_a_row, since = state.since, fence = state.fence, attempts = state.attempts,
    rid = state.admitted,
    page = {
      guards = {}, guarded = {}, ready = {}, known = 0, fresh = 0, news = 0, further = 0, unseen = 0,
      echoes = {new = 0, known = 0},
    },
    plan = {},
  }
end

-- Return the queue of a stage: pages that a browser draws have one of their own.
function queue_of(site, stage) return site.terms.rendered[stage] == 'yes' and 'render' or stage end

function ready_key(site, stage, level) return site.key .. ':ready:' .. stage .. ':' .. level end

function ready_keys(site, stage)
  local keys = {}
  for level in string.gmatch(site.levels[stage], '%d') do keys[#keys + 1] = ready_key(site, stage, level) end
  return keys
end

-- Counters for monitoring. A histogram has a field for each bucket, NAME:1 .., and NAME:sum.
function tally(site, field, n) count(site.key .. ':stats', field, n) end

function measure(key, name, bounds, value)
  local bucket = #bounds + 1
  for i = 1, #bounds do
    if value <= bounds[i] then
      bucket = i
      break
    end
  end
  count(key, name .. ':' .. bucket, 1)
  count(key, name .. ':sum', math.floor(value + 0.5))
end

-- Return the fetch time of an attempt, from the text that count_effort() reads.
function fetch_ms_of(effort) return tonumber(string.match(effort, '^%d+ %d+ %d+ (%d+)') or 0) end

-- Count the cost of an attempt: "<status> <wire bytes> <body bytes> <fetch ms> <parse ms>", or '' when nothing was
-- sent.
function count_effort(site, stage, effort)
  local status, wire, body, fetch, parse = string.match(effort, '^(%d+) (%d+) (%d+) (%d+) (%d+)$')
  if not status then return end
  if status ~= '0' then tally(site, 'status:' .. status, 1) end
  if wire ~= '0' then
    tally(site, 'wire', wire)
    tally(site, 'body', body)
    measure(P .. ':stats', 'parse:' .. stage, TIMES_MS, tonumber(parse))
  end
  measure(P .. ':stats', 'fetch:' .. stage, TIMES_MS, tonumber(fetch))
end

-- Mark a site as changed for monitoring, which reads anew only the sites that changed since its last look.
function note_change(site)
  if not site.is_noted then count(P .. ':changes', site.name, 1) end
  site.is_noted = true
end

-- Have a tick look at a site at a time, or earlier if one is planned.
function schedule_look(site, at) redis.call('ZADD', P .. ':due', 'LT', at, site.name) end
