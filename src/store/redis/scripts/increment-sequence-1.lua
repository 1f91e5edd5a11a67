-- Increases the sequence above one that a source has. The caller must then update the copies.
--
-- KEYS 1 in force
-- ARGV 1 clock, 2 the sequence to exceed
-- Returns {sequence, revision, frozen, version of the prices, freezes, lifted}
--- @include in_force

local state = in_force_read(KEYS[1], ARGV[1])
state.sequence = math.max(state.sequence, tonumber(ARGV[2])) + 1
in_force_write(state)
return in_force_reply(state)
