--- @include amount
--- @include time

-- A counter is a queue of buckets in one hash, ordered by their ends. The field `head` has, separated by
-- blanks: the total of all buckets, the numbers of the first and of the last bucket, the end and the sum of
-- the last bucket, and the end of the first bucket. Each earlier bucket is a field of its own, by its number:
-- `end|sum`. A bucket counts while its end is later than now - length. A calendar period is one bucket that
-- ends with the period, of length 0.
local function window_bucket(key, index)
  local ends, sum = string.match(redis.call('HGET', key, ms(index)) or '', '^(%d+)|(%d+)$')
  if not ends then error('counter without its bucket: ' .. key) end
  return tonumber(ends), amount_of(sum)
end

-- Removes the first bucket from the total. window_add deletes it.
local function window_drop(window)
  local sum = window.sum
  if window.first < window.last then
    local _
    _, sum = window_bucket(window.key, window.first)
    window.expired[#window.expired + 1] = ms(window.first)
  end
  window.total = amount_subtract(window.total, sum)
  window.first, window.span = window.first + 1, nil
  if window.first < window.last then
    window.oldest = window_bucket(window.key, window.first)
  elseif window.first == window.last then
    window.oldest = window.ends
  else
    window.ends, window.sum = 0, 0
  end
end

-- Reads the counter and writes nothing. `requested` is the total plus the amounts that earlier claims of this
-- settle requested.
local function window_read(key, now, length_ms)
  local head = redis.call('HGET', key, 'head')
  if not head then
    -- A counter without its head must not count as empty.
    if redis.call('EXISTS', key) == 1 then error('counter without its head: ' .. key) end
    return {
      key = key, length_ms = length_ms, expired = {}, total = 0, first = 1, last = 0, ends = 0, sum = 0,
      oldest = 0, requested = 0, new = true,
    }
  end
  local total, span, first, last, ends, sum, oldest =
    string.match(head, '^(%d+) ((%d+) (%d+) (%d+)) (%d+) (%d+)$')
  if not total then error('counter without a head that can be read: ' .. key) end
  local window = {
    key = key, length_ms = length_ms, expired = {}, total = amount_of(total), span = span,
    first = tonumber(first), last = tonumber(last), ends = tonumber(ends), sum = amount_of(sum),
    oldest = tonumber(oldest), requested = 0,
  }
  while window.first <= window.last and window.oldest <= now - length_ms do window_drop(window) end
  window.requested = window.total
  return window
end

-- Adds an amount in the bucket that ends at `ends`, and writes `requested` as the total: all amounts of a
-- settle are granted, or none. If the last bucket ends later, because buckets were longer before, it gets the
-- amount, which then counts longer than necessary.
local function window_add(window, amount, ends, clock)
  local key, begins, closed, closed_text = window.key, window.ends < ends, nil, nil
  if begins then
    if window.first <= window.last then
      closed, closed_text = ms(window.last), ms(window.ends) .. '|' .. amount_text(window.sum)
    else
      window.oldest = ends
    end
    window.last, window.ends, window.sum, window.span = window.last + 1, ends, amount, nil
  else
    window.sum = amount_add(window.sum, amount)
  end
  window.span = window.span or ms(window.first) .. ' ' .. ms(window.last) .. ' ' .. ms(window.ends)
  local head = amount_text(window.requested) .. ' ' .. window.span .. ' ' .. amount_text(window.sum)
    .. ' ' .. ms(window.oldest)
  if closed then
    redis.call('HSET', key, 'head', head, closed, closed_text)
  else
    redis.call('HSET', key, 'head', head)
  end
  if #window.expired > 0 then
    redis.call('HDEL', key, unpack(window.expired))
    window.expired = {}
  end
  if not begins then return end
  local lives_ms = ms(window.ends + window.length_ms - clock + EXPIRY_SLACK_MS)
  if window.new then
    redis.call('PEXPIRE', key, lives_ms)
  else
    redis.call('PEXPIRE', key, lives_ms, 'GT')
  end
  window.new = false
end
