-- Gives what is in force a sequence above one that some source keeps. It then has to be spread to the sources.
--
-- KEYS 1 in force
-- ARGV 1 the sequence that it is to be above
-- Returns {sequence, revision, frozen, version of the prices}
--- @include time

local in_force = redis.call('HMGET', KEYS[1], 'sequence', 'revision', 'frozen', 'prices')
local sequence = ms(math.max(tonumber(in_force[1] or '0'), tonumber(ARGV[1])) + 1)
redis.call('HSET', KEYS[1], 'sequence', sequence)
return { sequence, in_force[2] or '', in_force[3] or '', in_force[4] or '0' }
