-- Gives a source the epoch, which it needs to accept what is in force. Until then it settles nothing.
--
-- KEYS 1 control of the source
-- ARGV 1 epoch, 2 whether to overwrite another epoch (1), or only to give it to a source that never had one
--      (0)
-- Returns 1 if the source got it, else 0
local has = redis.call('HMGET', KEYS[1], 'epoch', 'sequence')
if has[1] == ARGV[1] or ARGV[2] ~= '1' and (has[1] or has[2]) then return 0 end
redis.call('HDEL', KEYS[1], 'sequence', 'revision', 'frozen', 'prices')
redis.call('HSET', KEYS[1], 'epoch', ARGV[1])
return 1
