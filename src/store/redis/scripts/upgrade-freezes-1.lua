-- Upgrades a record that a version with a single freeze wrote. Every freeze stays in effect. The caller must
-- then update the copies.
--
-- KEYS 1 in force
-- ARGV 1 clock
-- Returns 1
--- @include in_force

local state = in_force_read(KEYS[1], ARGV[1])
state.sequence = state.sequence + 1
in_force_write(state)
return 1
