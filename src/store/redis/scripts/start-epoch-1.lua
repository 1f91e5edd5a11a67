-- Gives the store its epoch, unless it has one, and reads what is in force.
--
-- KEYS 1 in force
-- ARGV 1 epoch
-- Returns {sequence, revision, frozen, version of the prices, freezes, lifted, epoch, epochs that were lost, stopped, what
--      `frozen` was when `freezes` was written, acts, number of the last id}, false for what is not there
redis.call('HSETNX', KEYS[1], 'epoch', ARGV[1])
return redis.call('HMGET', KEYS[1], 'sequence', 'revision', 'frozen', 'prices', 'freezes', 'lifted', 'epoch', 'lost', 'stopped',
  'told', 'acts', 'ids')
