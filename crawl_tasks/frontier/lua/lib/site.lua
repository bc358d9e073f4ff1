-- Shared by every script of the frontier: the clock, a site's terms, its counters. Loaded in front of each verb. Defines
-- functions, changes nothing by itself. In front of this file stand HINTS, the ready-made messages, TIMES_MS and AGES_S, the
-- bounds of histograms, and OUTBOX_MAX, the most pages that may wait for the store.
--
-- Every script takes KEYS 1: the key prefix P. All other keys are derived from P, as keys.py lists them, because one call
-- may touch many sites. Each verb describes its ARGV.
--
-- An entry is one request as text: "<rid> <stage> <priority> <attempt> <address> <payload>", where payload is the JSON
-- array [key, page, revision, reach if any]. A line is a request that asks for admission:
-- "<word> <flag> <stage> <priority> <address> <payload>". guard.lua knows a line by its word. The flags:
--   "!" if the guard admits it
--   "?" if the guard admits it and the walk goes on, see walks_on()
--   "~" as part of a full pass
--   "=" an echo, only if its thread was named before
--   "-" its list calls the page deleted
--   "+" whatever the guard says
--   "^" never: a ping of a front page, see news.lua
-- In `open` the entry stands without its rid, behind the token of its lease (0: released, nobody holds it).
-- EXPORTS: P STAGES CHUNK BACKFILL MOST_LOOKS GRACE COMING now_ms now_us numbers_in gate_opens_at load_site STAGE_AT
-- EXPORTS: stage_letter queue_of ready_key ready_keys tally measure fetch_ms_of count_effort note_change schedule_look
-- EXPORTS: holds_move

STAGES = {'list', 'post', 'comment'}
CHUNK = 1000    -- values in one variadic call, as Lua's stack holds about 8,000
BACKFILL = 2    -- highest priority of backfill: first scans, walks, full passes, and what they find
MOST_LOOKS = 50   -- pages of HSCAN that one call goes through, of about 100 each
GRACE = 5000    -- ms that a message may be out of its queue and not leased, twice, before it is taken for lost

COMING = 1000   -- ms for which a released message is taken to be on its way to a worker

function now_ms()
  local t = redis.call('TIME')
  return t[1] * 1000 + math.floor(t[2] / 1000)
end

function now_us()
  local t = redis.call('TIME')
  return t[1] * 1000000 + t[2]
end

local FIELDS = {
  'version', 'window', 'delay_ms', 'lease_ms', 'max_attempts', 'max_backlog', 'paused', 'draining', 'next_at', 'admitted', 'order',
  'guard', 'rolling_ms', 'guard_length', 'guard_hits', 'levels:list', 'levels:post', 'levels:comment', 'guard_capacity', 'full_pass_ms',
  'shut:list', 'shut:post', 'shut:comment', 'breaker_after', 'breaker_percent', 'probe_ms',
  'slow', 'slow_ms', 'crawl_delay_ms', 'daily_budget', 'spent', 'quiet', 'offsets',
  'weights', 'credit', 'daily_new', 'found', 'brood', 'lead', 'freshness', 'withdrawn', 'flushes', 'failed_in_a_row', 'rendered',
}

function numbers_in(text)
  local numbers = {}
  for number in string.gmatch(text or '', '-?%d+') do numbers[#numbers + 1] = tonumber(number) end
  return numbers
end

-- Return the time at which the gate of a site opens, ms: the next slot, or later in quiet hours or without budget today.
function gate_opens_at(next_at, quiet, budget, offsets, spent)
  local slot = tonumber(next_at or 0)
  if (quiet or '') == '' and tonumber(budget or 0) <= 0 then return slot end
  return math.max(slot, opens_at(now_ms(), offsets or '', quiet or '', tonumber(budget or 0), spent))
end

-- Return whether all sites stand still, or all but those of a command that serves this Redis alone, or this one, which moves.
local function is_halted(name)
  if redis.call('EXISTS', P .. ':halt', P .. ':only', P .. ':leaving') == 0 then return false end
  return redis.call('EXISTS', P .. ':halt') == 1 or redis.call('HEXISTS', P .. ':leaving', name) == 1
    or redis.call('EXISTS', P .. ':only') == 1 and redis.call('SISMEMBER', P .. ':only', name) == 0
end

-- Return whether a mover's token is the last one. `role` is leaving or arriving.
function holds_move(role, name, token)
  return string.match(redis.call('HGET', P .. ':' .. role, name) or '', '^%S+') == token
end

-- Return a site's terms and counters, or nil for a site that is not published.
function load_site(name)
  local key = P .. ':s:' .. name
  local v, values = {}, redis.call('HMGET', key, unpack(FIELDS))
  if not values[1] then return nil end
  for i = 1, #FIELDS do v[FIELDS[i]] = values[i] end
  local function number(field, otherwise) return tonumber(v[field] or otherwise) end
  local file_delay = math.max(number('delay_ms', 0), number('crawl_delay_ms', 0))
  local is_paused = v.paused == '1' or is_halted(name)
  local budget, next_at = number('daily_budget', 0), gate_opens_at(v.next_at, v.quiet, v.daily_budget, v.offsets, v.spent)
  local delay, window = backed_off(v.slow, file_delay, number('window', 1))
  return {
    name = name, key = key, version = v.version, paused = is_paused, draining = v.draining == '1' or v.withdrawn == '1',
    is_withdrawn = v.withdrawn == '1', next_at = next_at,
    window = window, delay = delay, lead = number('lead', 0), file_window = number('window', 1), file_delay = file_delay,
    daily_new = number('daily_new', 0), found = v.found, max_children = v.brood, freshness = v.freshness or '', weights = v.weights, credit = v.credit,
    daily_budget = budget, spent = v.spent, offsets = v.offsets or '', slow = v.slow, slow_ms = number('slow_ms', 10000),
    lease = number('lease_ms'),
    max_attempts = number('max_attempts'), max_backlog = number('max_backlog'), rid = number('admitted', 0),
    order = v.order, guard = v.guard, rendered = v.rendered or '', rolling = number('rolling_ms'), capacity = number('guard_capacity', 1000000),
    length = number('guard_length', 0), hits = number('guard_hits', 0), full = number('full_pass_ms', 0), 
    levels = {list = v['levels:list'] or '', post = v['levels:post'] or '', comment = v['levels:comment'] or ''},
    open_breakers = {list = v['shut:list'], post = v['shut:post'], comment = v['shut:comment']},
    breaker_after = number('breaker_after', 5), breaker_percent = number('breaker_percent', 75), probe = number('probe_ms', 900000),
    flushes = v.flushes, failed_in_a_row = v.failed_in_a_row, guards = {}, guarded = {}, old_buckets = {}, ready = {}, known = 0, fresh = 0, news = 0, echoes = {new = 0, known = 0},
  }
end

-- `order`, `guard` and `rendered` hold one letter a stage, in the order of STAGES: f(ifo) l(ifo), e(xact) r(olling) b(loom)
-- d(atabase) o(ff), and y(es) n(o).
STAGE_AT = {list = 1, post = 2, comment = 3}
function stage_letter(word, stage) return string.sub(word, STAGE_AT[stage], STAGE_AT[stage]) end

-- Return the queue of a stage: pages that a browser draws have one of their own.
function queue_of(site, stage) return stage_letter(site.rendered, stage) == 'y' and 'render' or stage end

function ready_key(site, stage, level) return site.key .. ':ready:' .. stage .. ':' .. level end

function ready_keys(site, stage)
  local keys = {}
  for level in string.gmatch(site.levels[stage], '%d') do keys[#keys + 1] = ready_key(site, stage, level) end
  return keys
end

-- Counters for monitoring. A histogram has a field for each bucket, NAME:1 .., and NAME:sum.
function tally(site, field, n) redis.call('HINCRBY', site.key .. ':stats', field, n) end

function measure(key, name, bounds, value, times)
  local bucket = #bounds + 1
  for i = 1, #bounds do
    if value <= bounds[i] then
      bucket = i
      break
    end
  end
  redis.call('HINCRBY', key, name .. ':' .. bucket, times or 1)
  redis.call('HINCRBY', key, name .. ':sum', string.format('%.0f', value * (times or 1)))
end

-- Return the fetch time of an attempt, from the text that count_effort() reads.
function fetch_ms_of(effort) return tonumber(string.match(effort, '^%d+ %d+ %d+ (%d+)') or 0) end

-- Count the cost of an attempt: "<status> <wire bytes> <body bytes> <fetch ms> <parse ms>", or '' when nothing was sent.
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
function note_change(site) redis.call('HINCRBY', P .. ':changes', site.name, 1) end

-- Have a tick look at a site at a time, or earlier if one is planned.
function schedule_look(site, at) redis.call('ZADD', P .. ':due', 'LT', at, site.name) end
