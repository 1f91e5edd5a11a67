-- Gives the store an epoch unless it has one, and reads what is in force.
--
-- KEYS 1 in force
-- ARGV 1 epoch
-- Returns {sequence, revision, frozen, version of the prices, freezes, lifted, epoch, lost epochs, whether it
--      is frozen for a loss, freeze events, number in the newest id of a freeze}, each false if missing
redis.call('HSETNX', KEYS[1], 'epoch', ARGV[1])
return redis.call('HMGET', KEYS[1], 'sequence', 'revision', 'frozen', 'prices', 'freezes', 'lifted', 'epoch',
  'lost', 'stopped', 'acts', 'ids')
