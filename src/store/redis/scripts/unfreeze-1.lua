-- Ends a freeze, unless another epoch has begun. It then has to be spread to the sources.
--
-- KEYS 1 in force
-- ARGV 1 epoch
-- Returns {sequence, revision, frozen, version of the prices}, or nothing if the epoch is another
--- @include time

local in_force = redis.call('HMGET', KEYS[1], 'sequence', 'revision', 'prices', 'epoch')
if in_force[4] ~= ARGV[1] then return false end
local sequence = ms(tonumber(in_force[1] or '0') + 1)
redis.call('HSET', KEYS[1], 'sequence', sequence, 'revision', in_force[2] or '', 'frozen', '')
redis.call('HDEL', KEYS[1], 'stopped')
return { sequence, in_force[2] or '', '', in_force[3] or '0' }
