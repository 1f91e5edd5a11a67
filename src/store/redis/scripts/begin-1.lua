-- Gives the store its epoch, unless it has one, and reads what is in force.
--
-- KEYS 1 in force
-- ARGV 1 epoch
-- Returns {sequence, revision, frozen, version of the prices, epoch, epochs that were lost, stopped}, false for what is not there
redis.call('HSETNX', KEYS[1], 'epoch', ARGV[1])
return redis.call('HMGET', KEYS[1], 'sequence', 'revision', 'frozen', 'prices', 'epoch', 'lost', 'stopped')
