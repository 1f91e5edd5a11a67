-- Lets one source take what is in force, unless it has taken something newer.
--
-- KEYS 1 control of the source
-- ARGV 1 sequence, 2 revision, 3 frozen
-- Returns 1 if it was taken, else 0
local taken = redis.call('HGET', KEYS[1], 'sequence')
if taken and tonumber(taken) >= tonumber(ARGV[1]) then return 0 end
redis.call('HSET', KEYS[1], 'sequence', ARGV[1], 'revision', ARGV[2], 'frozen', ARGV[3])
return 1
