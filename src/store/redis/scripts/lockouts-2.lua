-- Reads a page of the keys that are locked out, by when that ends.
--
-- KEYS 1 control, 2 lock-outs
-- ARGV 1 clock, 2 how many to skip, 3 how many to return
-- Returns the keys
--- @include time

local now = time_now(KEYS[1], ARGV[1])
return redis.call('ZRANGEBYSCORE', KEYS[2], '(' .. ms(now), '+inf', 'LIMIT', ARGV[2], ARGV[3])
