-- Lets one source take what is in force, unless it has taken something newer.
--
-- KEYS 1 control of the source
-- ARGV 1 sequence, 2 revision, 3 frozen, 4 version of the prices
-- Returns 0 if the source has it, else the sequence of what it keeps instead
local taken = redis.call('HMGET', KEYS[1], 'sequence', 'revision', 'frozen', 'prices')
if taken[1] and tonumber(taken[1]) >= tonumber(ARGV[1]) then
  local lost = false
  for index, part in ipairs(taken) do
    if part and part ~= ARGV[index] then return taken[1] end
    lost = lost or not part
  end
  if not lost then return '0' end
end
redis.call('HSET', KEYS[1], 'sequence', ARGV[1], 'revision', ARGV[2], 'frozen', ARGV[3], 'prices', ARGV[4])
return '0'
