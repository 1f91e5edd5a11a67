-- Writes or deletes a record of access, if it is still at the version that the caller has read.
--
-- KEYS 1 record
-- ARGV 1 expected version (0: there must be no record), 2 value (empty: delete), 3 how long it is kept ms (0:
--      for ever)
-- Returns 1 if it was changed, 0 if it is at another version
local found = redis.call('GET', KEYS[1])
local version = found and string.match(found, '^(%d+) ') or '0'
if version ~= ARGV[1] then return 0 end
if ARGV[2] == '' then
  redis.call('DEL', KEYS[1])
  return 1
end
local record = string.format('%d', tonumber(version) + 1) .. ' ' .. ARGV[2]
if ARGV[3] == '0' then
  redis.call('SET', KEYS[1], record)
else
  redis.call('SET', KEYS[1], record, 'PX', ARGV[3])
end
return 1
