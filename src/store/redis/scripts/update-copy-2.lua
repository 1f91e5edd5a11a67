-- Updates a source's copy of what is in force, unless the copy is newer. A source that lost data accepts only
-- a record that stops all approvals, and keeps its epoch, until it is registered again. Each freeze event
-- gets one entry in the source's journal.
--
-- KEYS 1 control of the source, 2 its journal
-- ARGV 1 sequence, 2 revision, 3 frozen, 4 version of the prices, 5 epoch, 6 field of the caller's high-water
--      mark, 7 the high-water mark, 8 clock, 9 journal retention ms, 10 freeze events; 5, 7 and 10 are empty
--      if unknown
-- Returns gone, other or behind if the source lost data, 0 if it has the record, else the sequence that it
--      has instead
--- @include journal
--- @include data_loss
--- @include frozen

-- A source remembers as many events as it can be given at once.
local EVENTS_MAX = 100

local epoch, field, mark = ARGV[5], ARGV[6], ARGV[7]
local copy = redis.call('HMGET', KEYS[1], 'sequence', 'revision', 'frozen', 'prices', 'epoch', field, 'acts')

if ARGV[10] ~= '' then
  local ids, known = {}, {}
  for id in string.gmatch(copy[7] or '', '%S+') do
    known[id] = true
    table.insert(ids, id)
  end
  local now, before = time_now(KEYS[1], ARGV[8]), #ids
  for _, event in ipairs(cjson.decode(ARGV[10])) do
    if not known[event[1]] then
      journal_append(KEYS[2], KEYS[1], now, ARGV[9], { type = 'freeze', detail = event[2] })
      table.insert(ids, event[1])
    end
  end
  if #ids > before then
    redis.call('HSET', KEYS[1], 'acts', table.concat(ids, ' ', math.max(1, #ids - EVENTS_MAX + 1)))
  end
end

local function write()
  redis.call('HSET', KEYS[1], 'sequence', ARGV[1], 'revision', ARGV[2], 'frozen', ARGV[3], 'prices', ARGV[4])
end

local lost = loss_in(copy[5], epoch, copy[6], mark)
if lost then
  if frozen_all(ARGV[3]) then write() end
  return lost
end

if copy[1] and tonumber(copy[1]) >= tonumber(ARGV[1]) then
  local complete = true
  for index = 1, 4 do
    if copy[index] and copy[index] ~= ARGV[index] then return copy[1] end
    complete = complete and copy[index]
  end
  if complete then return '0' end
end
write()
return '0'
