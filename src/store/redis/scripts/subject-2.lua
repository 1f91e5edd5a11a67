-- Reads a subject and changes nothing.
--
-- KEYS 1 control, 2 subject
-- ARGV 1 clock
-- Returns {now ms, the subject's fields}
--- @include time

return { ms(time_now(KEYS[1], ARGV[1])), redis.call('HGETALL', KEYS[2]) }
