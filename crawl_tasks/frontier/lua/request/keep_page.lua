-- Keep an unreadable page, as evidence for mending a rule. Of each stage the newest are kept, for some days.
-- INCLUDES: lib/site
-- KEYS 1: key prefix
-- ARGV 1: site
-- ARGV 2: stage
-- ARGV 3: rid of its request
-- ARGV 4: the page, packed
-- ARGV 5: most pages of a stage
-- ARGV 6: ms after the newest page until all of them expire
-- RETURNS 0: {0, kept now}
-- RETURNS -1: the site is not published

local site = load_site(ARGV[1])
if not site then return {-1, 0} end
local order, pages = site.key .. ':kept:' .. ARGV[2], site.key .. ':pages:' .. ARGV[2]
local newest = redis.call('ZREVRANGE', order, 0, 0, 'WITHSCORES')
-- No two in one millisecond: equal scores sort as text, 10 before 9.
redis.call('ZADD', order, math.max(now_ms(), (newest[2] or 0) + 1), ARGV[3])
redis.call('HSET', pages, ARGV[3], ARGV[4])
local over = redis.call('ZCARD', order) - ARGV[5]
if over > 0 then
  for i, rid in ipairs(redis.call('ZPOPMIN', order, over)) do
    if i % 2 == 1 then redis.call('HDEL', pages, rid) end
  end
end
redis.call('PEXPIRE', order, ARGV[6])
redis.call('PEXPIRE', pages, ARGV[6])
return {0, redis.call('ZCARD', order)}
