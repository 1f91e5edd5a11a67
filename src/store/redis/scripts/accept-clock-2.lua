-- Takes the clock as it stands, also after a jump ahead.
--
-- KEYS 1 control of a source, or in force, 2 journal, or, for what is in force, the same as 1
-- ARGV 1 clock, 2 journal retention ms, 3 by
-- Returns {now before ms, now ms}
--- @include journal

local control, journal = KEYS[1], KEYS[2]
local before = tonumber(redis.call('HGET', control, 'now') or '0')
local now = math.max(before, (time_clock(ARGV[1])))
redis.call('HSET', control, 'now', ms(now), 'kept', '1')
redis.call('HDEL', control, 'held')
if journal ~= control then
  -- As text, for a number would lose digits.
  local detail = '{"by":' .. cjson.encode(ARGV[3]) .. ',"fromMs":' .. ms(before) .. ',"toMs":' .. ms(now) .. '}'
  journal_append(journal, control, now, ARGV[2], { type = 'clock', code = 'CLOCK_ACCEPTED', detail = detail })
end
return { ms(before), ms(now) }
