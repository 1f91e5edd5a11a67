--- @include window

-- Finds the bucket with a number, if it holds an amount: its counter's head, and its sum. Otherwise returns
-- nil.
local function window_find(key, number, amount)
  local head = redis.call('HGET', key, 'head')
  if not head then return nil end
  local total, first, last, last_ends, sum, rest = string.match(head, '^(%d+) (%d+) (%d+) (%d+) (%d+)( %d+)$')
  if not total then error('counter without a head that can be read: ' .. key) end
  local index = tonumber(number)
  if index < tonumber(first) or index > tonumber(last) then return nil end
  local bucket = {
    key = key, number = number, amount = amount, total = amount_of(total), first = first, last = last,
    last_ends = last_ends, last_sum = sum, rest = rest, ends = tonumber(last_ends), sum = amount_of(sum),
  }
  if number ~= last then bucket.ends, bucket.sum = window_bucket(key, index) end
  return amount_at_most(amount, bucket.sum) and bucket or nil
end

-- Takes the amount out of the bucket.
local function window_give_back(bucket)
  local left, last_sum = amount_text(amount_subtract(bucket.sum, bucket.amount)), bucket.last_sum
  if bucket.number == bucket.last then
    last_sum = left
  else
    redis.call('HSET', bucket.key, bucket.number, ms(bucket.ends) .. '|' .. left)
  end
  redis.call('HSET', bucket.key, 'head', amount_text(amount_subtract(bucket.total, bucket.amount)) .. ' '
    .. bucket.first .. ' ' .. bucket.last .. ' ' .. bucket.last_ends .. ' ' .. last_sum .. bucket.rest)
end
