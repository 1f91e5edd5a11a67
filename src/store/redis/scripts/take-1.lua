-- Lets one source take what is in force, unless it has taken something newer. What it has lost it does not take again: a
-- source that lost data takes nothing that is not frozen, and keeps its epoch, until it is enrolled anew.
--
-- KEYS 1 control of the source
-- ARGV 1 sequence, 2 revision, 3 frozen, 4 version of the prices, 5 epoch, 6 witness of the caller, 7 its newest approval;
--      the last three are empty, or missing, where they are not known
-- Returns gone, other or behind if data was lost, 0 if the source has it, else the sequence of what it keeps instead
--- @include lost

local epoch, witness, newest = ARGV[5] or '', ARGV[6] or '', ARGV[7] or ''
local taken = redis.call('HMGET', KEYS[1], 'sequence', 'revision', 'frozen', 'prices', 'epoch', witness)
local has = taken[5]
-- A copy from before there were epochs gets one.
if not has and taken[1] and tonumber(taken[1]) <= tonumber(ARGV[1]) then has = epoch end

local function give()
  redis.call('HSET', KEYS[1], 'sequence', ARGV[1], 'revision', ARGV[2], 'frozen', ARGV[3], 'prices', ARGV[4])
end

local lost = lost_what(has, epoch, taken[6], newest)
if lost then
  local frozen = ARGV[3] ~= ''
  if frozen then give() end
  -- With a copy and no epoch it would be taken, later, for one from before there were any.
  if not has and (taken[1] or frozen) then redis.call('HSET', KEYS[1], 'epoch', 'lost') end
  return lost
end

if taken[1] and tonumber(taken[1]) >= tonumber(ARGV[1]) then
  local incomplete = has ~= taken[5]
  for index = 1, 4 do
    if taken[index] and taken[index] ~= ARGV[index] then return taken[1] end
    incomplete = incomplete or not taken[index]
  end
  if not incomplete then return '0' end
end
give()
if epoch ~= '' then redis.call('HSET', KEYS[1], 'epoch', epoch) end
return '0'
