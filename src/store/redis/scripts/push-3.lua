-- Puts a revision in force, unless another revision than the expected one is in force. The caller must then
-- update the copies.
--
-- KEYS 1 in force, 2 history, 3 documents
-- ARGV 1 clock, 2 expected revision, 3 revision, 4 document, 5 by, 6 message, 7 files or the empty text
-- Returns {in-force | conflict, sequence, revision, frozen, version of the prices, freezes, lifted}
--- @include in_force

local state = in_force_read(KEYS[1], ARGV[1])
if state.revision ~= ARGV[2] then return in_force_reply(state, 'conflict') end
state.sequence, state.revision = state.sequence + 1, ARGV[3]
redis.call('HSET', KEYS[3], ARGV[3], ARGV[4])
if ARGV[7] ~= '' then redis.call('HSET', KEYS[3], ARGV[3] .. ':files', ARGV[7]) end
redis.call('LPUSH', KEYS[2], cjson.encode({ ms(state.sequence), ARGV[3], ARGV[5], ARGV[6], ms(state.now) }))
in_force_write(state)
return in_force_reply(state, 'in-force')
