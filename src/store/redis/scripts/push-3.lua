-- Puts a revision in force if the one it was compared against still is. It then has to be spread to the sources.
--
-- KEYS 1 in force, 2 history, 3 documents
-- ARGV 1 clock, 2 expected revision, 3 revision, 4 document, 5 by, 6 message
-- Returns {in-force | conflict, sequence, revision, frozen, version of the prices}
--- @include time

local in_force = redis.call('HMGET', KEYS[1], 'sequence', 'revision', 'frozen', 'prices')
local sequence, frozen, prices = in_force[1] or '0', in_force[3] or '', in_force[4] or '0'
if (in_force[2] or '') ~= ARGV[2] then return { 'conflict', sequence, in_force[2] or '', frozen, prices } end
local now = time_now(KEYS[1], ARGV[1])
sequence = ms(tonumber(sequence) + 1)
redis.call('HSET', KEYS[3], ARGV[3], ARGV[4])
redis.call('LPUSH', KEYS[2], cjson.encode({ sequence, ARGV[3], ARGV[5], ARGV[6], ms(now) }))
redis.call('HSET', KEYS[1], 'sequence', sequence, 'revision', ARGV[3], 'frozen', frozen, 'now', ms(now))
return { 'in-force', sequence, ARGV[3], frozen, prices }
