--- @include amount
--- @include time

-- A counter is a queue of buckets in one hash: fields `first` to `last`, each `end|sum`, ends ascending, and the `total`
-- of those. A bucket counts while its end lies later than now - length. A calendar period is one bucket that ends with
-- the period, of length 0.

-- How long a key outlives what it holds, so that Redis never expires what still counts.
local SLACK_MS = 60000

local function window_bucket(key, index)
  local ends, sum = string.match(redis.call('HGET', key, ms(index)) or '', '^(%d+)|(%d+)$')
  if not ends then error('counter without its bucket: ' .. key) end
  return tonumber(ends), sum
end

-- Reads only, and all that window_add needs: expired buckets are left out of the total, to be deleted by the latter.
local function window_read(key, now, length_ms)
  local row = redis.call('HMGET', key, 'total', 'first', 'last')
  local window = { key = key, length_ms = length_ms, total = row[1] or '0', expired = {}, ends = 0, sum = '0' }
  window.first, window.last = tonumber(row[2] or '1'), tonumber(row[3] or '0')
  while window.first <= window.last do
    local ends, sum = window_bucket(key, window.first)
    if ends > now - length_ms then break end
    window.total = amount_subtract(window.total, sum)
    table.insert(window.expired, ms(window.first))
    window.first = window.first + 1
  end
  if window.first <= window.last then window.ends, window.sum = window_bucket(key, window.last) end
  return window
end

-- Adds to the bucket that ends at `ends`. Where the last bucket ends later (the buckets were longer once), it takes the
-- amount, which then counts for longer than it must.
local function window_add(window, amount, ends, clock)
  if window.ends >= ends then
    window.sum = amount_add(window.sum, amount)
  else
    window.last, window.ends, window.sum = window.last + 1, ends, amount
  end
  window.total = amount_add(window.total, amount)
  redis.call('HSET', window.key, 'total', window.total, 'first', ms(window.first), 'last', ms(window.last),
    ms(window.last), ms(window.ends) .. '|' .. window.sum)
  for _, index in ipairs(window.expired) do redis.call('HDEL', window.key, index) end
  window.expired = {}
  local lives_ms = window.ends + window.length_ms - clock + SLACK_MS
  if redis.call('PTTL', window.key) < lives_ms then redis.call('PEXPIRE', window.key, ms(lives_ms)) end
end
