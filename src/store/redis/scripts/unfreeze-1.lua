-- Lifts freezes. A loss is lifted only with the epoch that its end was acknowledged in. It then has to be spread to the sources.
--
-- KEYS 1 in force
-- ARGV 1 clock, 2 epoch; empty: no loss is lifted, 3 by, then the ids of the freezes to lift
-- Returns {those that it lifted, sequence, revision, frozen, version of the prices, freezes, lifted}, or nothing if the epoch
--      is another
--- @include in_force

local NAMED_FROM = 4

local state = in_force_read(KEYS[1], ARGV[1])
local epoch, by, at = ARGV[2], ARGV[3], ms(state.now)
if epoch ~= '' and state.epoch ~= epoch then return false end

local may_lift = { operator = true, loss = epoch ~= '' }
local named = {}
for index = NAMED_FROM, #ARGV do named[ARGV[index]] = true end
local lifted, standing = {}, {}
for _, freeze in ipairs(state.freezes) do
  local ends = named[freeze[1]] and may_lift[freeze[2]]
  table.insert(ends and lifted or standing, freeze)
end
if #lifted > 0 then
  state.sequence, state.freezes = state.sequence + 1, standing
  for _, freeze in ipairs(lifted) do table.insert(state.lifted, { freeze[1], by, at }) end
  while #state.lifted > LIFTED do table.remove(state.lifted, 1) end
  in_force_act(state, 'unfreeze', by, at, lifted)
  in_force_write(state)
end
return in_force_reply(state, in_force_json(lifted))
