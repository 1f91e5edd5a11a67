-- Ends a freeze. It then has to be spread to the sources.
--
-- KEYS 1 in force
-- ARGV none
-- Returns {sequence, revision, frozen, version of the prices}
--- @include time

local in_force = redis.call('HMGET', KEYS[1], 'sequence', 'revision', 'prices')
local sequence = ms(tonumber(in_force[1] or '0') + 1)
redis.call('HSET', KEYS[1], 'sequence', sequence, 'revision', in_force[2] or '', 'frozen', '')
return { sequence, in_force[2] or '', '', in_force[3] or '0' }
