-- Lets one source take what is in force, unless it has taken something newer.
--
-- KEYS 1 control of the source
-- ARGV 1 sequence, 2 revision, 3 frozen
-- Returns 0 if the source has it, else the sequence of what it keeps instead
local taken = redis.call('HMGET', KEYS[1], 'sequence', 'revision', 'frozen')
if taken[1] and tonumber(taken[1]) >= tonumber(ARGV[1]) then
  local same = taken[1] == ARGV[1] and taken[2] == ARGV[2] and taken[3] == ARGV[3]
  return same and '0' or taken[1]
end
redis.call('HSET', KEYS[1], 'sequence', ARGV[1], 'revision', ARGV[2], 'frozen', ARGV[3])
return '0'
