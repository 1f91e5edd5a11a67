-- Increments the number of the last request for heartbeats. The caller must publish the change.
--
-- KEYS 1 services
-- ARGV 1 lifetime ms
-- Returns the number of the request
--- @include time

local call = ms(tonumber(redis.call('HGET', KEYS[1], 'call') or '0') + 1)
redis.call('HSET', KEYS[1], 'call', call)
redis.call('PEXPIRE', KEYS[1], ARGV[1])
return call
