-- Lifts freezes. Lifts a freeze for lost data only if the current epoch is given. The caller must then update
-- the copies.
--
-- KEYS 1 in force
-- ARGV 1 clock, 2 epoch; empty: no freeze for lost data is lifted, 3 by, 4 reason; may be empty, then the ids of
--      the freezes to lift
-- Returns {the freezes that it lifted, sequence, revision, frozen, version of the prices, freezes, lifted};
--      nothing if the epoch is another one
--- @include in_force

local IDS_FROM = 5

local state = in_force_read(KEYS[1], ARGV[1])
local epoch, by, at = ARGV[2], ARGV[3], ms(state.now)
if epoch ~= '' and state.epoch ~= epoch then return false end

local named = {}
for index = IDS_FROM, #ARGV do named[ARGV[index]] = true end
local lifted, standing = {}, {}
for _, freeze in ipairs(state.freezes) do
  local is_lifted = named[freeze[1]] and (freeze[2] ~= 'loss' or epoch ~= '')
  table.insert(is_lifted and lifted or standing, freeze)
end
if #lifted > 0 then
  state.sequence, state.freezes = state.sequence + 1, standing
  for _, freeze in ipairs(lifted) do table.insert(state.lifted, { freeze[1], by, at }) end
  while #state.lifted > LIFTED_MAX do table.remove(state.lifted, 1) end
  in_force_event(state, 'unfreeze', by, at, lifted, ARGV[4])
  in_force_write(state)
end
return in_force_reply(state, in_force_json(lifted))
