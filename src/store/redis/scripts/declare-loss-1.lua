-- Declares an epoch lost: freezes everything, until that is acknowledged under another epoch. Freezes that were lost as well
-- stand again. It then has to be spread to the sources.
--
-- KEYS 1 in force
-- ARGV 1 clock, 2 reason, 3 by, 4 epoch that was lost; empty: the one there is, 5 the next epoch, 6 the sequence that the caller
--      saw last, 7 the freezes that stood then, 8 the number of the last id that it saw
-- Returns 1 if it was declared, 0 if it had been before
--- @include in_force

-- Processes that were away for longer than so many losses find one more.
local REMEMBERED = 20

local state = in_force_read(KEYS[1], ARGV[1])
local epoch, lost, seen = state.epoch, state.lost, tonumber(ARGV[6])
state.ids = math.max(state.ids, tonumber(ARGV[8]))
local known = ARGV[4] ~= '' and ARGV[4] or epoch or 'none'
if epoch ~= known and string.find(' ' .. lost .. ' ', ' ' .. known .. ' ', 1, true) then return 0 end

local epochs = { known }
if epoch and epoch ~= known then table.insert(epochs, epoch) end
for before in string.gmatch(lost, '%S+') do
  if #epochs < REMEMBERED then table.insert(epochs, before) end
end

if epoch ~= known or state.sequence < seen then
  local stands, standing = {}, {}
  for _, freeze in ipairs(state.freezes) do stands[freeze[1]] = cjson.encode(freeze) end
  for _, freeze in ipairs(in_force_list(ARGV[7])) do
    -- A process that knew nothing of it may have given its id to another.
    local other = stands[freeze[1]]
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
