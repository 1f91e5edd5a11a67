-- Lifts the lock-out of a key.
--
-- KEYS 1 control, 2 refusals of the key, 3 lock-outs, 4 journal
-- ARGV 1 clock, 2 journal retention ms, 3 key, 4 by, 5 message
-- Returns {locked, policy, whose}, the fields of the refusals; nothing if the key is not locked out
--- @include journal

local control, refusals, lockouts, journal = KEYS[1], KEYS[2], KEYS[3], KEYS[4]
local now = time_now(control, ARGV[1])
local locked, policy, whose = unpack(redis.call('HMGET', refusals, 'locked', 'policy', 'whose'))
local since, ends, count = string.match(locked or '', '^(%d+) (%d+) (%d+)$')
if not since or ends ~= '0' and tonumber(ends) <= now then return false end

redis.call('DEL', refusals)
redis.call('ZREM', lockouts, ARGV[3])
-- Written as text, because cjson keeps only 14 digits of a number.
local detail = '{"change":"lift","by":' .. cjson.encode(ARGV[4]) .. ',"message":' .. cjson.encode(ARGV[5])
  .. ',"lockout":{"id":' .. cjson.encode(ARGV[3]) .. ',"policy":' .. cjson.encode(policy) .. ',"whose":'
  .. cjson.encode(whose) .. ',"refusals":' .. count .. ',"sinceMs":' .. since .. ',"untilMs":' .. ends .. '}}'
journal_append(journal, control, now, ARGV[2], { type = 'lockout', detail = detail })
return { locked, policy, whose }
