-- Ends a freeze. It then has to be spread to the sources.
--
-- KEYS 1 in force
-- ARGV 1 a sequence that it is to be above
-- Returns {sequence, revision, frozen}
local in_force = redis.call('HMGET', KEYS[1], 'sequence', 'revision')
local sequence = string.format('%.0f', math.max(tonumber(in_force[1] or '0'), tonumber(ARGV[1])) + 1)
redis.call('HSET', KEYS[1], 'sequence', sequence, 'revision', in_force[2] or '', 'frozen', '')
return { sequence, in_force[2] or '', '' }
