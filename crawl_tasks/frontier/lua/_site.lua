-- Shared by every script of the frontier: the clock, a site's terms, its counters. _guard.lua goes on.
-- Loaded in front of each verb; defines functions, changes nothing. In front of it stand HINTS, the ready-made messages,
-- TIMES_MS and AGES_S, the bounds of histograms, and OUTBOX_MAX, the most pages that may wait for the store.
--
-- Every script takes KEYS 1: the key prefix P. All other keys are derived from it, as keys.py lists them,
-- because one call may touch many sites. ARGV are given with each verb.
--
-- An entry is one request as text: "<rid> <stage> <priority> <attempt> <address> <payload>", where payload is
-- the JSON array [key, page, revision]. A line is a request that asks for admission:
-- "<word> <flag> <stage> <priority> <address> <payload>"; _guard.lua knows it by its word. Flag "?" means: only if a post or
-- comment before it was new, or walks_on() says so; "!" always; "~" as part of a full pass; "=" an echo, only if the thread
-- was named before; "-" its list says that it is deleted; "+" whatever the guard says.
-- In `open` the entry stands without its rid, behind the token of its lease (0: released, nobody holds it).

local P = KEYS[1]
local STAGES = {'list', 'post', 'comment'}
local CHUNK = 1000    -- values in one variadic call: Lua's stack holds about 8,000
local MOST_LOOKS = 50   -- pages of HSCAN that one call goes through, of about 100 each
local GRACE = 5000    -- ms that a message may be out of its queue and not leased, twice, before it is taken for lost

local COMING = 1000   -- ms for which a released message is taken to be on its way to a worker

local function now_ms()
  local t = redis.call('TIME')
  return t[1] * 1000 + math.floor(t[2] / 1000)
end

local function now_us()
  local t = redis.call('TIME')
  return t[1] * 1000000 + t[2]
end

local FIELDS = {
  'version', 'window', 'delay_ms', 'lease_ms', 'max_attempts', 'max_backlog', 'paused', 'draining', 'next_at', 'admitted', 'order',
  'guard', 'rolling_ms', 'levels:list', 'levels:post', 'levels:comment', 'guard_capacity', 'full_pass_ms',
  'shut:list', 'shut:post', 'shut:comment', 'breaker_after', 'breaker_percent', 'probe_ms',
  'slow', 'slow_ms', 'crawl_delay_ms', 'daily_budget', 'spent', 'quiet', 'offsets',
  'weights', 'credit', 'daily_new', 'found', 'brood', 'lead',
}

-- When the gate of a site opens, ms: its next turn, or later when it is asleep or has spent the day's budget.
local function gate_opens_at(next_at, quiet, budget, offsets, spent)
  local turn = tonumber(next_at or 0)
  if (quiet or '') == '' and tonumber(budget or 0) <= 0 then return turn end
  return math.max(turn, opens_at(now_ms(), offsets or '', quiet or '', tonumber(budget or 0), spent))
end

-- A site's terms and counters, or nil when nobody published the site.
local function load_site(name)
  local key = P .. ':s:' .. name
  local v, values = {}, redis.call('HMGET', key, unpack(FIELDS))
  if not values[1] then return nil end
  for i = 1, #FIELDS do v[FIELDS[i]] = values[i] end
  local function number(field, otherwise) return tonumber(v[field] or otherwise) end
  local file_delay = math.max(number('delay_ms', 0), number('crawl_delay_ms', 0))
  local is_paused = v.paused == '1' or redis.call('EXISTS', P .. ':halt') == 1
  local budget, next_at = number('daily_budget', 0), gate_opens_at(v.next_at, v.quiet, v.daily_budget, v.offsets, v.spent)
  local delay, window = pace_of(v.slow, file_delay, number('window', 1))
  return {
    name = name, key = key, version = v.version, paused = is_paused, draining = v.draining == '1', next_at = next_at,
    window = window, delay = delay, lead = number('lead', 0), file_window = number('window', 1), file_delay = file_delay,
    daily_new = number('daily_new', 0), found = v.found, brood = v.brood, weights = v.weights, credit = v.credit,
    daily_budget = budget, spent = v.spent, offsets = v.offsets or '', slow = v.slow, slow_ms = number('slow_ms', 10000),
    lease = number('lease_ms'),
    max_attempts = number('max_attempts'), max_backlog = number('max_backlog'), rid = number('admitted', 0),
    order = v.order, guard = v.guard, rolling = number('rolling_ms'), capacity = number('guard_capacity', 1000000),
    full = number('full_pass_ms', 0), 
    levels = {list = v['levels:list'] or '', post = v['levels:post'] or '', comment = v['levels:comment'] or ''},
    shut = {list = v['shut:list'], post = v['shut:post'], comment = v['shut:comment']},
    breaker_after = number('breaker_after', 5), breaker_percent = number('breaker_percent', 75), probe = number('probe_ms', 900000),
    guards = {}, old_buckets = {}, ready = {}, known = 0, fresh = 0, news = 0, echoes = {new = 0, known = 0},
  }
end

-- `order` and `guard` hold one letter a stage, in the order of STAGES: f(ifo) l(ifo); e(xact) r(olling) b(loom) o(ff).
local STAGE_AT = {list = 1, post = 2, comment = 3}
local function stage_letter(word, stage) return string.sub(word, STAGE_AT[stage], STAGE_AT[stage]) end

local function ready_key(site, stage, level) return site.key .. ':ready:' .. stage .. ':' .. level end

local function ready_keys(site, stage)
  local keys = {}
  for level in string.gmatch(site.levels[stage], '%d') do keys[#keys + 1] = ready_key(site, stage, level) end
  return keys
end

-- Counters, for whoever watches. A histogram is as many fields as it has buckets, NAME:1 .., and NAME:sum.
local function tally(site, field, n) redis.call('HINCRBY', site.key .. ':stats', field, n) end

local function measure(key, name, bounds, value, times)
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

-- How long an attempt took to fetch, of the text that count_effort() reads.
local function fetch_ms_of(effort) return tonumber(string.match(effort, '^%d+ %d+ %d+ (%d+)') or 0) end

-- Count what an attempt cost: "<status> <wire bytes> <body bytes> <fetch ms> <parse ms>", or '' when nothing was sent.
local function count_effort(site, stage, effort)
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

-- Remember an attempt among the last of the site. The list is cut when it is twice as long: one command a page, not two.
local RECENT, SHOWN = 20, 200
local function note_recent(site, now, entry, effort, outcome)
  local stage, address = string.match(entry, '^%d+ (%a+) %d %d+ (%S+)')
  local status, fetch = string.match(effort, '^(%d+) %d+ %d+ (%d+)')
  local said = {string.format('%.0f', now), stage, status or 0, fetch or 0, outcome, string.sub(address, 1, SHOWN)}
  local key = site.key .. ':recent'
  if redis.call('LPUSH', key, table.concat(said, ' ')) >= 2 * RECENT then redis.call('LTRIM', key, 0, RECENT - 1) end
end

-- Tell whoever watches that the site is not as it was: it reads anew only the sites that changed since it looked.
local function note_change(site) redis.call('HINCRBY', P .. ':changes', site.name, 1) end

local function attend(site, at) redis.call('ZADD', P .. ':due', 'LT', at, site.name) end
