-- `unpack` is limited to some thousands of values.
local FIELDS_PER_CALL = 1000

-- HMGET of any number of fields. Returns their values in order, false for a missing field.
local function fields_get(key, names)
  if #names <= FIELDS_PER_CALL then return #names == 0 and {} or redis.call('HMGET', key, unpack(names)) end
  local values = {}
  for from = 1, #names, FIELDS_PER_CALL do
    local to = math.min(from + FIELDS_PER_CALL - 1, #names)
    local found = redis.call('HMGET', key, unpack(names, from, to))
    for offset = 1, to - from + 1 do values[from + offset - 1] = found[offset] end
  end
  return values
end

-- HSET of any number of fields, each followed by its value.
local function fields_set(key, pairs)
  for from = 1, #pairs, FIELDS_PER_CALL do
    redis.call('HSET', key, unpack(pairs, from, math.min(from + FIELDS_PER_CALL - 1, #pairs)))
  end
end
