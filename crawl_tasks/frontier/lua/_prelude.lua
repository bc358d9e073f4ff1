-- Shared by every script of the frontier: the clock, a site's terms, the guard, admission. _release.lua goes on.
-- Loaded in front of each verb; defines functions, changes nothing. In front of it stand HINTS, the ready-made messages,
-- TIMES_MS and AGES_S, the bounds of histograms,
-- and OUTBOX_MAX, the most pages that may wait for the store.
--
-- Every script takes KEYS 1: the key prefix P. All other keys are derived from it, as keys.py lists them,
-- because one call may touch many sites. ARGV are given with each verb.
--
-- An entry is one request as text: "<rid> <stage> <priority> <attempt> <address> <payload>", where payload is
-- the JSON array [key, page, revision]. A line is a request that asks for admission:
-- "<fingerprint> <flag> <stage> <priority> <address> <payload>"; flag "?" means: only if a post or comment before it was new, or walks_on() says so,
-- "!" always, "~" as part of a full pass, "=" only if the thread was named before (see is_echo()). A post of a revision has two fingerprints, "<it>/<the one without revision>".
-- In `open` the entry stands without its rid, behind the token of its lease (0: released, nobody holds it).

local P = KEYS[1]
local STAGES = {'list', 'post', 'comment'}
local BUCKET = 200    -- mean members of a guard set; a set stays an intset up to 512 (set-max-intset-entries)
local CHUNK = 1000    -- values in one variadic call: Lua's stack holds about 8,000
local GRACE = 5000    -- ms that a message may be out of its queue and not leased, twice, before it is taken for lost

local COMING = 1000   -- ms for which a released message is taken to be on its way to a worker

local function now_ms()
  local t = redis.call('TIME')
  return t[1] * 1000 + math.floor(t[2] / 1000)
end

local FIELDS = {
  'version', 'window', 'delay_ms', 'lease_ms', 'max_attempts', 'max_backlog', 'paused', 'draining', 'next_at', 'admitted', 'order',
  'guard', 'rolling_ms', 'levels:list', 'levels:post', 'levels:comment', 'guard_capacity', 'full_pass_ms', 'hubs',
  'shut:list', 'shut:post', 'shut:comment', 'breaker_after', 'breaker_percent', 'probe_ms',
  'slow', 'slow_ms', 'crawl_delay_ms', 'daily_budget', 'spent', 'quiet', 'offsets',
  'weights', 'credit', 'daily_new', 'found', 'brood',
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
    window = window, delay = delay, file_window = number('window', 1), file_delay = file_delay,
    daily_new = number('daily_new', 0), found = v.found, brood = v.brood, weights = v.weights, credit = v.credit, daily_budget = budget, spent = v.spent, offsets = v.offsets or '', slow = v.slow, slow_ms = number('slow_ms', 10000), lease = number('lease_ms'),
    max_attempts = number('max_attempts'), max_backlog = number('max_backlog'), rid = number('admitted', 0),
    order = v.order, guard = v.guard, rolling = number('rolling_ms'), capacity = number('guard_capacity', 1000000),
    full = number('full_pass_ms', 0), has_hubs = v.hubs == '1',
    levels = {list = v['levels:list'] or '', post = v['levels:post'] or '', comment = v['levels:comment'] or ''},
    shut = {list = v['shut:list'], post = v['shut:post'], comment = v['shut:comment']},
    breaker_after = number('breaker_after', 5), breaker_percent = number('breaker_percent', 75), probe = number('probe_ms', 900000),
    guards = {}, ready = {}, known = 0, fresh = 0, news = 0, echoes = {new = 0, known = 0},
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

-- The guard ------------------------------------------------------------------------------------------------
-- A table of fingerprints by linear hashing (Litwin 1980): bucket n is split when the table outgrows its
-- buckets, one at a time, so each set stays a small intset and no rehash is ever long.

-- The remainder of a decimal string of up to 19 digits by a power of two, exact where doubles are not.
local function remainder(digits, modulus)
  local high, low = tonumber(string.sub(digits, 1, -11)) or 0, tonumber(string.sub(digits, -10))
  return ((high % modulus) * (10000000000 % modulus) + low) % modulus
end

local function guard_table(site, name)
  local t = site.guards[name]
  if t then return t end
  local v = redis.call('HMGET', site.key .. ':guard', name .. ':n', name .. ':m')
  t = {key = site.key .. ':g:' .. name .. ':', n = tonumber(v[1] or 0), m = tonumber(v[2] or 1), name = name}
  t.round = 1
  while t.round * 2 <= t.m do t.round = t.round * 2 end
  site.guards[name] = t
  return t
end

local function guard_bucket(t, fingerprint)
  local b = remainder(fingerprint, t.round * 2)
  if b >= t.m then b = b - t.round end
  return t.key .. b
end

local function guard_split(t)
  local from, to = t.m - t.round, t.m
  local moved = {}
  for _, f in ipairs(redis.call('SMEMBERS', t.key .. from)) do  -- bounded: about 2 * BUCKET
    if remainder(f, t.round * 2) ~= from then moved[#moved + 1] = f end
  end
  for i = 1, #moved, CHUNK do
    local last = math.min(i + CHUNK - 1, #moved)
    redis.call('SADD', t.key .. to, unpack(moved, i, last))
    redis.call('SREM', t.key .. from, unpack(moved, i, last))
  end
  if t.expires then redis.call('PEXPIREAT', t.key .. to, t.expires) end
  t.m = t.m + 1
  if t.m == t.round * 2 then t.round = t.m end
end

local function guard_insert(t, fingerprint)
  local key = guard_bucket(t, fingerprint)
  if redis.call('SADD', key, fingerprint) == 0 then return false end
  if t.expires then redis.call('PEXPIREAT', key, t.expires) end
  t.n, t.dirty = t.n + 1, true
  if t.n > t.m * BUCKET then guard_split(t) end
  return true
end

-- Bloom filters (Bloom 1970) of PROBES bits a fingerprint, in bitmaps that hold `capacity` fingerprints each; a full one
-- is followed by the next. At 24 bits a fingerprint a full filter takes 1 of 100,000 strangers for an acquaintance.
local PROBES, BITS = 17, 24

-- Two halves of a fingerprint give all its places (Kirsch and Mitzenmacher 2006).
local function bloom_command(site, fingerprint, operation, value)
  local size = site.capacity * BITS
  local at, step = tonumber(string.sub(fingerprint, -10)), (tonumber(string.sub(fingerprint, 1, -11)) or 0) + 1
  local words = {}
  for i = 1, PROBES do
    words[#words + 1], words[#words + 2], words[#words + 3] = operation, 'u1', string.format('%.0f', (at + i * step) % size)
    words[#words + 1] = value
  end
  return words
end

local function all_ones(bits)
  for _, bit in ipairs(bits) do
    if bit == 0 then return false end
  end
  return true
end

local function bloom_insert(site, t, fingerprint)
  local current = math.floor(t.n / site.capacity)
  if current > 0 then
    local probes = bloom_command(site, fingerprint, 'GET')
    for i = 0, current - 1 do
      if all_ones(redis.call('BITFIELD_RO', t.key .. i, unpack(probes))) then return false end
    end
  end
  if all_ones(redis.call('BITFIELD', t.key .. current, unpack(bloom_command(site, fingerprint, 'SET', 1)))) then return false end
  t.n, t.dirty = t.n + 1, true
  return true
end

-- Enter a fingerprint; say whether it was new. `rolling` keeps two windows: seeing it again prolongs nothing.
local function guard_rolls(site, name, span, fingerprint, now)
  local window = math.floor(now / span)
  local before = guard_table(site, name .. '@' .. (window - 1))
  if before.n > 0 and redis.call('SISMEMBER', guard_bucket(before, fingerprint), fingerprint) == 1 then return false end
  local current = guard_table(site, name .. '@' .. window)
  current.expires = (window + 2) * span
  if current.n == 0 then
    local old = name .. '@' .. (window - 2)
    redis.call('HDEL', site.key .. ':guard', old .. ':n', old .. ':m')
  end
  return guard_insert(current, fingerprint)
end

-- What a full pass saw is remembered apart, and no longer than its period.
local function guard_admits(site, stage, fingerprint, now, is_full)
  if is_full then return guard_rolls(site, 'full-' .. stage, site.full > 0 and site.full or site.rolling, fingerprint, now) end
  local mode = stage_letter(site.guard, stage)
  if mode == 'o' then return true end
  if mode == 'e' then return guard_insert(guard_table(site, stage), fingerprint) end
  if mode == 'b' then return bloom_insert(site, guard_table(site, stage .. '~'), fingerprint) end
  return guard_rolls(site, stage, site.rolling, fingerprint, now)
end

-- Say whether a fingerprint was entered, and enter nothing.
local function guard_holds(site, stage, fingerprint, now)
  local function is_in(t) return redis.call('SISMEMBER', guard_bucket(t, fingerprint), fingerprint) == 1 end
  local mode = stage_letter(site.guard, stage)
  if mode == 'o' then return true end
  if mode == 'e' then return is_in(guard_table(site, stage)) end
  if mode == 'r' then
    local window = math.floor(now / site.rolling)
    return is_in(guard_table(site, stage .. '@' .. window)) or is_in(guard_table(site, stage .. '@' .. (window - 1)))
  end
  local t, probes = guard_table(site, stage .. '~'), bloom_command(site, fingerprint, 'GET')
  for i = 0, math.floor(t.n / site.capacity) do
    if all_ones(redis.call('BITFIELD_RO', t.key .. i, unpack(probes))) then return true end
  end
  return false
end

-- Where hubs name threads too, a thread is known without its revision as well: what names it again asks for nothing.
local function guard_name(site, stage, at_all, now)
  if site.has_hubs and at_all ~= '' then guard_admits(site, stage, at_all, now) end
end

-- Admission ------------------------------------------------------------------------------------------------

local function board_key(site, id) return site.key .. ':board:' .. id end

-- A list page of a full pass is counted apart, so that it holds up no scan: the third value of its reach names the pass.
local function note_board(site, payload, change)
  local said = cjson.decode(payload)
  local id = said[1]
  local key = board_key(site, id)
  if redis.call('EXISTS', key) == 0 then return end
  if said[4] and (said[4][3] or '') ~= '' then
    redis.call('HINCRBY', key, 'full_open', change)
    return
  end
  local open = redis.call('HINCRBY', key, 'open', change)
  if change > 0 and open == 1 then redis.call('SADD', site.key .. ':scanning', id) end
  if open <= 0 then redis.call('SREM', site.key .. ':scanning', id) end
  return key, open
end

-- Know a priority of a stage, so that its ready list is looked at; `levels` holds them, highest first.
local function know_level(site, stage, level)
  if string.find(site.levels[stage], level, 1, true) then return end
  local digits = {level}
  for d in string.gmatch(site.levels[stage], '%d') do digits[#digits + 1] = d end
  table.sort(digits, function(a, b) return a > b end)
  site.levels[stage] = table.concat(digits)
  redis.call('HSET', site.key, 'levels:' .. stage, site.levels[stage])
end

-- Put an entry in front of its ready list, where the next release takes it.
local function return_ready(site, entry)
  local stage, level = string.match(entry, '^%d+ (%a+) (%d)')
  know_level(site, stage, level)
  redis.call(stage_letter(site.order, stage) == 'l' and 'RPUSH' or 'LPUSH', ready_key(site, stage, level), entry)
end

-- Put an entry behind the others of its ready list; settle() writes it.
local function append_ready(site, stage, level, entry)
  know_level(site, stage, level)
  local key = ready_key(site, stage, level)
  local batch = site.ready[key]
  if not batch then batch = {}; site.ready[key] = batch end
  batch[#batch + 1] = entry
end

-- Say whether a line only tells of news in a thread that needs no request now: nobody named the thread yet, so that it is
-- read whole when its own board lists it; or a first scan is behind page 1, where everything is older than the scan.
local function is_echo(site, stage, flag, at_all, now)
  if flag ~= '=' then return false end
  site.echoes.new = site.echoes.new + 1
  return site.is_first_walk or not guard_holds(site, stage, at_all, now)
end

-- Say whether a walk goes on from a page. A scan that went beyond a second page is walked once more by the next one: what
-- left a page while we read it moved others up, onto pages that were read before. It has `slack` pages without news.
local function walks_on(site, request)
  -- Echoes stand newest first: behind one that is known all are.
  if site.echoes.new + site.echoes.known > 0 then return site.echoes.known == 0 end
  local key = board_key(site, cjson.decode(string.match(request, '^%S+ (.*)$'))[1])
  if redis.call('EXISTS', key) == 0 then return site.news > 0 end
  if site.news > 0 then
    redis.call('HINCRBY', key, 'walked', 1)
    return true
  end
  if tonumber(redis.call('HGET', key, 'slack') or 0) <= 0 then return false end
  redis.call('HINCRBY', key, 'slack', -1)
  return true
end

-- Pass one line through the guard; enter it into the ledger as ready when it is new. Ends with settle().
local function admit_line(site, line, now, unguarded)
  local fingerprint, at_all, flag, stage, level, request = string.match(line, '^(%d+)/?(%d*) (%p) (%a+) (%d) (.*)$')
  if flag == '?' and not walks_on(site, request) then return false end
  if flag == '~' and stage == 'list' and not unguarded then  -- produce.lua admits it when it is its turn
    redis.call('HSET', board_key(site, cjson.decode(string.match(request, '^%S+ (.*)$'))[1]), 'full_next', line)
    return false
  end
  if not unguarded and not guard_admits(site, stage, fingerprint, now, flag == '~') then
    site.known = site.known + 1
    if flag == '=' then site.echoes.known = site.echoes.known + 1 end
    return false
  end
  if not unguarded and is_echo(site, stage, flag, at_all, now) then return false end
  if not unguarded then guard_name(site, stage, at_all, now) end
  site.rid, site.fresh = site.rid + 1, site.fresh + 1
  append_ready(site, stage, level, site.rid .. ' ' .. stage .. ' ' .. level .. ' 0 ' .. request)
  if stage == 'list' then note_board(site, string.match(request, '^%S+ (.*)$'), 1) else site.news = site.news + 1 end
  return true
end

-- Write what admission gathered: ready lists, guard sizes, counters.
local function settle(site)
  for key, batch in pairs(site.ready) do
    for i = 1, #batch, CHUNK do redis.call('RPUSH', key, unpack(batch, i, math.min(i + CHUNK - 1, #batch))) end
  end
  site.ready = {}
  for _, t in pairs(site.guards) do
    if t.dirty then redis.call('HSET', site.key .. ':guard', t.name .. ':n', t.n, t.name .. ':m', t.m); t.dirty = nil end
  end
  if site.fresh > 0 then redis.call('HSET', site.key, 'admitted', site.rid) end
  if site.known > 0 then redis.call('HINCRBY', site.key, 'known', site.known) end
end

local function backlog(site)
  local n = redis.call('ZCARD', site.key .. ':leased') + redis.call('ZCARD', site.key .. ':delayed')
  for _, stage in ipairs(STAGES) do
    n = n + redis.call('ZCARD', site.key .. ':released:' .. stage)
    for _, key in ipairs(ready_keys(site, stage)) do n = n + redis.call('LLEN', key) end
  end
  return n
end
