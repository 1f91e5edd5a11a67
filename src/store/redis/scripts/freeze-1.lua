-- Freezes all sources. The caller must then update the copies.
--
-- KEYS 1 in force
-- ARGV 1 clock, 2 reason, 3 by, 4 the number in the newest id of a freeze that the caller saw,
--      5 kind
-- Returns {the freeze, sequence, revision, frozen, version of the prices, freezes, lifted}
--- @include in_force

local state = in_force_read(KEYS[1], ARGV[1])
state.sequence, state.ids = state.sequence + 1, math.max(state.ids, tonumber(ARGV[4]))
local freeze = in_force_freeze(state, ARGV[5], ARGV[2], ARGV[3], ms(state.now))
in_force_write(state)
return in_force_reply(state, cjson.encode(freeze))
