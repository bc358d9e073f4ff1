-- Take Redis and the database for of one age, when a recovery has ended. P:ages holds the greatest change of the
-- database that was acknowledged (`change`), the same of changes by pages of this ledger (`own`), the number of
-- batches that were drawn from the outbox (`drawn`), the time at which Redis proved to be older (`older`), and 1 from
-- the first step of a recovery that scans all boards to their ends until it ends (`walks`).
-- INCLUDES: lib/site
-- KEYS 1: key prefix
-- ARGV 1: greatest change of the database
-- ARGV 2: batches drawn
-- RETURNS 0: {0}

redis.call('HSET', P .. ':ages', 'change', ARGV[1], 'own', ARGV[1], 'drawn', ARGV[2])
redis.call('HDEL', P .. ':ages', 'older', 'walks')
return {0}
