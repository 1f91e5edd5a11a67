--- @include amount
--- @include time

-- A counter is a queue of buckets in one hash, ends ascending, with the `total` of all. The last bucket is in `ends` and
-- `sum`, the end of the first one in `oldest`; those before the last are fields of their own, `first` to `last` - 1, each
-- `end|sum`. A bucket counts while its end lies later than now - length. A calendar period is one bucket that ends with
-- the period, of length 0.

-- How long a key outlives what it holds, so that Redis never expires what still counts.
local SLACK_MS = 60000

local function window_bucket(key, index)
  local ends, sum = string.match(redis.call('HGET', key, ms(index)) or '', '^(%d+)|(%d+)$')
  if not ends then error('counter without its bucket: ' .. key) end
  return tonumber(ends), sum
end

-- Leaves the first bucket out of the total, to be deleted by window_add.
local function window_drop(window)
  local sum = window.sum
  if window.first < window.last then
    local _
    _, sum = window_bucket(window.key, window.first)
    table.insert(window.expired, ms(window.first))
  end
  window.total = amount_subtract(window.total, sum)
  window.first = window.first + 1
  if window.first < window.last then
    window.oldest = window_bucket(window.key, window.first)
  elseif window.first == window.last then
    window.oldest = window.ends
  else
    window.ends, window.sum = 0, '0'
  end
end

-- Reads only, and all that window_add needs. `asked` is what would be used if all that was asked so far were granted.
local FIELDS = { 'total', 'first', 'last', 'ends', 'sum', 'oldest' }
local function window_read(key, now, length_ms)
  local window = { key = key, length_ms = length_ms, expired = {}, total = '0', first = 1, last = 0, ends = 0, sum = '0', oldest = 0 }
  local row, there = redis.call('HMGET', key, unpack(FIELDS)), 0
  for index, field in ipairs(FIELDS) do
    if row[index] then
      amount_check(row[index])
      there = there + 1
      window[field] = type(window[field]) == 'number' and tonumber(row[index]) or row[index]
    end
  end
  if there > 0 and there < #FIELDS then error('counter without all its fields: ' .. key) end
  while window.first <= window.last and window.oldest <= now - length_ms do window_drop(window) end
  window.asked = window.total
  return window
end

-- Grants one amount of those asked, in the bucket that ends at `ends`; whoever grants one grants all. Where the last
-- bucket ends later (the buckets were longer once), it takes the amount, which then counts for longer than it must.
local function window_add(window, amount, ends, clock)
  local key, fields, begins = window.key, {}, window.ends < ends
  if begins then
    if window.first <= window.last then
      fields = { ms(window.last), ms(window.ends) .. '|' .. window.sum }
    else
      window.oldest = ends
    end
    window.last, window.ends, window.sum = window.last + 1, ends, amount
  else
    window.sum = amount_add(window.sum, amount)
  end
  redis.call('HSET', key, 'total', window.asked, 'first', ms(window.first), 'last', ms(window.last), 'ends',
    ms(window.ends), 'sum', window.sum, 'oldest', ms(window.oldest), unpack(fields))
  if #window.expired > 0 then redis.call('HDEL', key, unpack(window.expired)) end
  window.expired = {}
  local lives_ms = window.ends + window.length_ms - clock + SLACK_MS
  if begins and redis.call('PTTL', key) < lives_ms then redis.call('PEXPIRE', key, ms(lives_ms)) end
end
