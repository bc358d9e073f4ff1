-- Lease a released request to the caller, with a fencing token, if the gate lets one more go now. The attempt is
-- counted here, before the work. A request that the gate refuses stands first in its ready list again.
-- INCLUDES: lib/site lib/lease
-- KEYS 1: key prefix
-- KEYS 2: name of the call, as answers.lua reads it
-- ARGV 1: site
-- ARGV 2: rid
-- ARGV 3: ms from now until the caller can send
-- ARGV 4: ms by which the caller may send late
-- RETURNS 0: {0, token, attempt, entry, site version, tail page of the thread, deadline in ms, validator or '',
--   delay between two requests in ms, now in us, beginning and end of the slot in ms}, without a slot where the delay
--   is 0
-- RETURNS -1: the site is not published
-- RETURNS -2: no such request is open: done, dead or never admitted
-- RETURNS -3: another worker holds it
-- RETURNS -4: the site is paused
-- RETURNS -5: the window is full
-- RETURNS -6: too early for the site's rate
-- RETURNS -7: the outbox is full (backpressure of the store)
-- RETURNS -8: the circuit breaker is open, and it is not time for a probe

local site = load_site(ARGV[1])
if not site then return {-1} end
return lease_request(site, ARGV[2], now_ms(), ARGV[3], ARGV[4])
