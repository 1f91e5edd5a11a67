-- The store's time, which is kept, so that it never runs backwards.
--
-- KEYS 1 in force
-- ARGV 1 clock
-- Returns now ms
--- @include time

local now = time_now(KEYS[1], ARGV[1])
redis.call('HSET', KEYS[1], 'now', ms(now))
return ms(now)
