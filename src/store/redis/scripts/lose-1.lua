-- Declares an epoch lost: freezes everything, until it is unfrozen under another epoch. It then has to be spread to the sources.
--
-- KEYS 1 in force
-- ARGV 1 clock, 2 reason, 3 by, 4 epoch that was lost; empty: the one there is, 5 the next epoch
-- Returns 1 if it was declared, 0 if it had been before
--- @include time

-- Processes that were away for longer than so many losses find one more.
local REMEMBERED = 20

local in_force = redis.call('HMGET', KEYS[1], 'sequence', 'epoch', 'lost', 'frozen')
local epoch, lost, frozen = in_force[2], in_force[3] or '', in_force[4] or ''
local known = ARGV[4] ~= '' and ARGV[4] or epoch or 'none'
if epoch ~= known and string.find(' ' .. lost .. ' ', ' ' .. known .. ' ', 1, true) then return 0 end

local epochs = { known }
if epoch and epoch ~= known then table.insert(epochs, epoch) end
for before in string.gmatch(lost, '%S+') do
  if #epochs < REMEMBERED then table.insert(epochs, before) end
end

local reason = ARGV[2]
if frozen ~= '' then
  local before = cjson.decode(frozen)
  if before[2] ~= ARGV[3] then reason = reason .. '. It was frozen before, by ' .. before[2] .. ': ' .. before[1] end
end
local now = time_now(KEYS[1], ARGV[1])
redis.call('HSET', KEYS[1], 'sequence', ms(tonumber(in_force[1] or '0') + 1), 'epoch', ARGV[5],
  'lost', table.concat(epochs, ' '), 'stopped', '1', 'frozen', cjson.encode({ reason, ARGV[3], ms(now) }), 'now', ms(now))
return 1
