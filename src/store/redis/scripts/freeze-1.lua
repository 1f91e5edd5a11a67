-- Freezes everything. It then has to be spread to the sources.
--
-- KEYS 1 in force
-- ARGV 1 clock, 2 reason, 3 by
-- Returns {sequence, revision, frozen, version of the prices}
--- @include time

local in_force = redis.call('HMGET', KEYS[1], 'sequence', 'revision', 'prices')
local now = time_now(KEYS[1], ARGV[1])
local sequence = ms(tonumber(in_force[1] or '0') + 1)
local frozen = cjson.encode({ ARGV[2], ARGV[3], ms(now) })
redis.call('HSET', KEYS[1], 'sequence', sequence, 'revision', in_force[2] or '', 'frozen', frozen, 'now', ms(now))
return { sequence, in_force[2] or '', frozen, in_force[3] or '0' }
