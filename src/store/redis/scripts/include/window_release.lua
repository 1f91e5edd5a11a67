--- @include window

-- Finds the bucket that ends at `ends`: its counter's head, its number and its sum. Returns nil without it.
local function window_find(key, ends)
  local head = redis.call('HGET', key, 'head')
  if not head then return nil end
  local total, first, last, last_ends, sum, rest = string.match(head, '^(%d+) (%d+) (%d+) (%d+) (%d+)( %d+)$')
  if not total then error('counter without a head that can be read: ' .. key) end
  local bucket = {
    key = key, total = amount_of(total), first = first, last = last, last_ends = last_ends,
    last_sum = sum, rest = rest,
  }
  for index = tonumber(last), tonumber(first), -1 do
    local found, found_sum = tonumber(last_ends), amount_of(sum)
    if index < tonumber(last) then found, found_sum = window_bucket(key, index) end
    if found < ends then return nil end
    if found == ends then
      bucket.index, bucket.sum = ms(index), found_sum
      return bucket
    end
  end
end

-- Takes an amount out of a bucket that holds it.
local function window_give_back(bucket, amount)
  local left = amount_text(amount_subtract(bucket.sum, amount))
  local last_sum = bucket.last_sum
  if bucket.index == bucket.last then
    last_sum = left
  else
    local ends = string.match(redis.call('HGET', bucket.key, bucket.index), '^%d+')
    redis.call('HSET', bucket.key, bucket.index, ends .. '|' .. left)
  end
  redis.call('HSET', bucket.key, 'head', amount_text(amount_subtract(bucket.total, amount)) .. ' '
    .. bucket.first .. ' ' .. bucket.last .. ' ' .. bucket.last_ends .. ' ' .. last_sum .. bucket.rest)
end
