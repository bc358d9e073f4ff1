-- Remember how a site's pages contradict each other, or that they do so no more.
-- INCLUDES: lib/site
-- KEYS 1: key prefix
-- ARGV 1: site
-- ARGV 2: contradiction in words, '' when the pages agree again
-- RETURNS 0: {0}
-- RETURNS -1: the site is not published

local site = load_site(ARGV[1])
if not site then return {-1} end
if ARGV[2] == '' then
  redis.call('HDEL', site.key, 'mismatch')
else
  redis.call('HSET', site.key, 'mismatch', string.format('%.0f ', now_ms()) .. ARGV[2])
end
note_change(site)
return {0}
