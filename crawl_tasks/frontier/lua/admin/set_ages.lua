-- Take Redis and the database for of one age, after a recovery. P:ages holds the greatest change of the database that was
-- acknowledged, the number of batches that were drawn from the outbox, and the time at which Redis proved to be older.
-- KEYS 1: key prefix
-- ARGV 1: greatest change of the database
-- ARGV 2: batches drawn
-- RETURNS 0: {0}

redis.call('HSET', P .. ':ages', 'change', ARGV[1], 'drawn', ARGV[2])
redis.call('HDEL', P .. ':ages', 'older')
return {0}
