-- Gives a source the epoch, by which it may take what is in force. Until it does, it settles nothing.
--
-- KEYS 1 control of the source
-- ARGV 1 epoch, 2 whatever it has (1), or only if it never had anything (0)
-- Returns 1 if it was given, else 0
local has = redis.call('HMGET', KEYS[1], 'epoch', 'sequence')
if has[1] == ARGV[1] or ARGV[2] ~= '1' and (has[1] or has[2]) then return 0 end
redis.call('HDEL', KEYS[1], 'sequence', 'revision', 'frozen', 'prices')
redis.call('HSET', KEYS[1], 'epoch', ARGV[1])
return 1
