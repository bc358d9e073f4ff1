-- Delete keys of a site in the cell that it has left, or that a mover before was bringing it to. The last call ends the
-- move.
-- INCLUDES: lib/site
-- FLAGS: allow-oom
-- KEYS 1: key prefix
-- ARGV 1: site
-- ARGV 2: token of the mover
-- ARGV 3: leaving or arriving
-- ARGV 4: name of the cell that the site has moved to, to end the move, else ''
-- ARGV 5..: keys behind the prefix
-- RETURNS 0: {0}
-- RETURNS 1: {1}, another mover has taken over, or the move has ended

if not holds_move(ARGV[3], ARGV[1], ARGV[2]) then return {1} end
for i = 5, #ARGV do redis.call('UNLINK', P .. ':' .. ARGV[i]) end
if ARGV[4] ~= '' then
  redis.call('HDEL', P .. ':leaving', ARGV[1])
  redis.call('HDEL', P .. ':changes', ARGV[1])
  redis.call('HSET', P .. ':moved', ARGV[1], ARGV[4])
end
return {0}
