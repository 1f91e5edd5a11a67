-- Adds values to a list and removes values from it. A value that the list already has keeps the time when it
-- was added.
--
-- KEYS 1 control, 2 lists, 3 list, 4 journal
-- ARGV 1 clock, 2 journal retention ms, 3 name of the list, 4 detail, 5 number of values to add, then these
--      values, then the values to remove
-- Returns {added, removed, entries, version, now ms}; {jumped, ms that the clock is ahead} if values are to
--      be added while the clock is ahead; nothing if the change only removes and the list does not exist
--- @include journal

-- `unpack` is limited to some thousands of values.
local VALUES_PER_CALL = 1000

local control, lists, list, journal = KEYS[1], KEYS[2], KEYS[3], KEYS[4]
local now, ahead = time_now(control, ARGV[1])
if ahead > 0 and ARGV[5] ~= '0' then return { 'jumped', ms(ahead) } end
local row = redis.call('HGET', lists, ARGV[3])
if not row and ARGV[5] == '0' and #ARGV > 5 then return false end
local version = tonumber(string.match(row or '', '^%d+') or '0') + 1

journal_append(journal, control, now, ARGV[2], { type = 'list', detail = ARGV[4] })
local last = 5 + tonumber(ARGV[5])
local added, removed = 0, 0
for from = 6, last, VALUES_PER_CALL do
  local to = math.min(from + VALUES_PER_CALL - 1, last)
  local found, new = redis.call('HMGET', list, unpack(ARGV, from, to)), {}
  for offset = 1, to - from + 1 do
    if not found[offset] then
      new[#new + 1] = ARGV[from + offset - 1]
      new[#new + 1] = ms(now)
    end
  end
  if #new > 0 then added = added + redis.call('HSET', list, unpack(new)) end
end
for from = last + 1, #ARGV, VALUES_PER_CALL do
  local to = math.min(from + VALUES_PER_CALL - 1, #ARGV)
  removed = removed + redis.call('HDEL', list, unpack(ARGV, from, to))
end
local entries = redis.call('HLEN', list)
redis.call('HSET', lists, ARGV[3], ms(version) .. '|' .. ms(now) .. '|' .. ms(entries))
return { added, removed, entries, version, ms(now) }
