-- Puts a revision in force, unless another revision than the expected one is in force. The caller must then
-- update the copies.
--
-- KEYS 1 in force, 2 history, 3 documents
-- ARGV 1 clock, 2 expected revision, 3 revision, 4 document, 5 by, 6 message, 7 serial or 0,
-- then the name and the text of each further document
-- Returns {in-force | conflict, sequence, revision, frozen, version of the prices, freezes, lifted}
--- @include in_force

local state = in_force_read(KEYS[1], ARGV[1])
if state.revision ~= ARGV[2] then return in_force_reply(state, 'conflict') end
state.sequence, state.revision = state.sequence + 1, ARGV[3]
redis.call('HSET', KEYS[3], ARGV[3], ARGV[4])
for at = 8, #ARGV, 2 do redis.call('HSET', KEYS[3], ARGV[at], ARGV[at + 1]) end
redis.call('LPUSH', KEYS[2], cjson.encode({ ms(state.sequence), ARGV[3], ARGV[5], ARGV[6], ms(state.now), ARGV[7] }))
in_force_write(state)
return in_force_reply(state, 'in-force')
