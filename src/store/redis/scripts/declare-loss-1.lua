-- Declares an epoch lost and starts another one. Freezes all sources, until an operator acknowledges the
-- loss. Freezes that were lost are restored. The caller must then update the copies.
--
-- KEYS 1 in force
-- ARGV 1 clock, 2 reason, 3 by, 4 the epoch that was lost; empty: the current one, 5 the next epoch, 6 the
--      last sequence that the caller saw, 7 the freezes that the caller saw, 8 the number in the newest id of
--      a freeze that it saw
-- Returns 1 if this declared the loss, 0 if it was declared before
--- @include in_force

-- A process that missed more losses than this finds another loss.
local LOST_EPOCHS = 20

local state = in_force_read(KEYS[1], ARGV[1])
local epoch, lost, seen = state.epoch, state.lost, tonumber(ARGV[6])
state.ids = math.max(state.ids, tonumber(ARGV[8]))
local known = ARGV[4] ~= '' and ARGV[4] or epoch or 'none'
if epoch ~= known and string.find(' ' .. lost .. ' ', ' ' .. known .. ' ', 1, true) then return 0 end

local epochs = { known }
if epoch and epoch ~= known then table.insert(epochs, epoch) end
for before in string.gmatch(lost, '%S+') do
  if #epochs < LOST_EPOCHS then table.insert(epochs, before) end
end

if epoch ~= known or state.sequence < seen then
  local json_by_id, standing = {}, {}
  for _, freeze in ipairs(state.freezes) do json_by_id[freeze[1]] = cjson.encode(freeze) end
  for _, freeze in ipairs(in_force_list(ARGV[7])) do
    -- A process that did not know this freeze may have given its id to another one.
    local other = json_by_id[freeze[1]]
    if other and other ~= cjson.encode(freeze) then freeze[1], other = in_force_id(state), nil end
    if not other then table.insert(standing, freeze) end
  end
  for _, freeze in ipairs(state.freezes) do table.insert(standing, freeze) end
  state.freezes = standing
end
state.sequence = math.max(state.sequence, seen) + 1
in_force_freeze(state, 'loss', ARGV[2], ARGV[3], ms(state.now))
redis.call('HSET', KEYS[1], 'epoch', ARGV[5], 'lost', table.concat(epochs, ' '))
in_force_write(state)
return 1
