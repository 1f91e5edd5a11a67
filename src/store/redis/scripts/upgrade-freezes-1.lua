-- Takes over what a version wrote that knows of one freeze only, so that no freeze ends by it. It then has to be spread.
--
-- KEYS 1 in force
-- ARGV 1 clock
-- Returns 1
--- @include in_force

local state = in_force_read(KEYS[1], ARGV[1])
state.sequence = state.sequence + 1
in_force_write(state)
return 1
