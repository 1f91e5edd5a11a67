-- Adds values to a list and removes values from it. A value that is there already keeps its time.
--
-- KEYS 1 control, 2 lists, 3 list, 4 journal
-- ARGV 1 clock, 2 journal retention ms, 3 list's name, 4 detail, 5 number of values to add, these, the values to remove
-- Returns {added, removed, entries, version, now ms}; {jumped, ms the clock is ahead} for values to add while it is; or nothing if it is to remove only, from a list that does not exist
--- @include journal

-- Lua unpacks no more than some thousands.
local VALUES_AT_ONCE = 1000

local control, lists, list, journal = KEYS[1], KEYS[2], KEYS[3], KEYS[4]
local now, ahead = time_now(control, ARGV[1])
if ahead > 0 and ARGV[5] ~= '0' then return { 'jumped', ms(ahead) } end
local row = redis.call('HGET', lists, ARGV[3])
if not row and ARGV[5] == '0' and #ARGV > 5 then return false end
local version = tonumber(string.match(row or '', '^%d+') or '0') + 1

journal_append(journal, control, now, ARGV[2], { type = 'list', detail = ARGV[4] })
local last = 5 + tonumber(ARGV[5])
local added, removed = 0, 0
for from = 6, last, VALUES_AT_ONCE do
  local to = math.min(from + VALUES_AT_ONCE - 1, last)
  local found, new = redis.call('HMGET', list, unpack(ARGV, from, to)), {}
  for offset = 1, to - from + 1 do
    if not found[offset] then
      new[#new + 1] = ARGV[from + offset - 1]
      new[#new + 1] = ms(now)
    end
  end
  if #new > 0 then added = added + redis.call('HSET', list, unpack(new)) end
end
for from = last + 1, #ARGV, VALUES_AT_ONCE do
  removed = removed + redis.call('HDEL', list, unpack(ARGV, from, math.min(from + VALUES_AT_ONCE - 1, #ARGV)))
end
local entries = redis.call('HLEN', list)
redis.call('HSET', lists, ARGV[3], ms(version) .. '|' .. ms(now) .. '|' .. ms(entries))
return { added, removed, entries, version, ms(now) }
