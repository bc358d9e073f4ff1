-- Reject a page's items that cannot be stored: keep them aside with the reason, until they are put back or dropped. A
-- second call for the same page changes nothing.
-- INCLUDES: lib/site
-- FLAGS: allow-oom
-- KEYS 1: key prefix
-- ARGV 1: id in the outbox
-- ARGV 2: reason
-- ARGV 3: most pages with rejected items
-- RETURNS 0: {0}
-- RETURNS -1: there is no room, and the page stays in the outbox

local stream, rejected = P .. ':outbox', P .. ':rejected'
local entry = redis.call('XRANGE', stream, ARGV[1], ARGV[1])[1]
if not entry then return {0} end
if redis.call('XLEN', rejected) >= tonumber(ARGV[3]) then return {-1} end
-- With the time of the commit, by which a later site of this name does not count the page as its own.
redis.call('XADD', rejected, '*', 'items', entry[2][2], 'reason', ARGV[2], 'at', string.match(ARGV[1], '^%d+'))
redis.call('XACK', stream, 'store', ARGV[1])
redis.call('XDEL', stream, ARGV[1])
return {0}
