-- Lets one source take what is in force, unless it has taken something newer. What it has lost it does not take again: a
-- source that lost data takes nothing that is not frozen, and keeps its epoch, until it is enrolled anew. Each freeze and each
-- end of one gets an entry of its journal, once.
--
-- KEYS 1 control of the source, 2 its journal
-- ARGV 1 sequence, 2 revision, 3 frozen, 4 version of the prices, 5 epoch, 6 witness of the caller, 7 its newest approval,
--      8 clock, 9 journal retention ms, 10 acts; 5 to 7 and 10 are empty where they are not known
-- Returns gone, other or behind if data was lost, 0 if the source has it, else the sequence of what it keeps instead
--- @include journal
--- @include lost

-- So many acts a source knows to be in its journal: as many as may be given to it at once.
local ACTS = 100

local epoch, witness, newest = ARGV[5], ARGV[6], ARGV[7]
local taken = redis.call('HMGET', KEYS[1], 'sequence', 'revision', 'frozen', 'prices', 'epoch', witness, 'acts')

if ARGV[10] ~= '' then
  local ids, known = {}, {}
  for id in string.gmatch(taken[7] or '', '%S+') do
    known[id] = true
    table.insert(ids, id)
  end
  local now, before = time_now(KEYS[1], ARGV[8]), #ids
  for _, act in ipairs(cjson.decode(ARGV[10])) do
    if not known[act[1]] then
      journal_append(KEYS[2], KEYS[1], now, ARGV[9], { type = 'freeze', detail = act[2] })
      table.insert(ids, act[1])
    end
  end
  if #ids > before then
    redis.call('HSET', KEYS[1], 'acts', table.concat(ids, ' ', math.max(1, #ids - ACTS + 1)))
  end
end

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
