-- Accepts the clock as it is, even after a jump ahead.
--
-- KEYS 1 control of a source, or in force, 2 its journal; for in force, the same key as 1
-- ARGV 1 clock, 2 journal retention ms, 3 by
-- Returns {time before ms, time now ms}
--- @include journal

local control, journal = KEYS[1], KEYS[2]
local before = tonumber(redis.call('HGET', control, 'now') or '0')
local now = math.max(before, (time_clock(ARGV[1])))
redis.call('HSET', control, 'now', ms(now), 'kept', '1')
redis.call('HDEL', control, 'held')
if journal ~= control then
  -- Written as text, because cjson keeps only 14 digits of a number.
  local detail = '{"by":' .. cjson.encode(ARGV[3]) .. ',"fromMs":' .. ms(before)
    .. ',"toMs":' .. ms(now) .. '}'
  journal_append(journal, control, now, ARGV[2], { type = 'clock', code = 'CLOCK_ACCEPTED', detail = detail })
end
return { ms(before), ms(now) }
