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

-- Finds what the subject has reserved, unless it no longer counts. Nothing of a bucket that does not hold it
-- is the subject's.
local function window_own(window, known, now)
  local until_ms, number, amount = string.match(known, '^(%d+) (%d+) (%w+)$')
  if not until_ms then error('reservation that can\'t be read: ' .. known) end
  local index = tonumber(number)
  if tonumber(until_ms) <= now or index < window.first or index > window.last then return end
  local ends, sum = window.ends, window.sum
  if index < window.last then ends, sum = window_bucket(window.key, index) end
  local own = amount_read(amount)
  if ms(ends + window.length_ms) ~= until_ms or not amount_at_most(own, sum) then return end
  window.own, window.own_index, window.own_ends, window.own_sum = own, index, ends, sum
  window.requested = amount_subtract(window.total, own)
end

-- Reads the counter and writes nothing. `known` is what the subject has reserved there: until when in ms, the
-- number of its bucket, and the amount, with blanks between. `own` is the amount, as far as the window counts
-- it, and `own_index` its bucket. `requested` is the rest of the total, plus the amounts that claims of this
-- settle request.
local function window_read(key, known, now, length_ms)
  local window = { key = key, length_ms = length_ms, expired = {}, own = 0, own_index = false }
  local head = redis.call('HGET', key, 'head')
  if not head then
    -- A counter without its head must not count as empty.
    if redis.call('EXISTS', key) == 1 then error('counter without its head: ' .. key) end
    -- The numbers of a counter begin with the time. So a bucket never has the number of one that was deleted
    -- with its counter: there are fewer buckets than milliseconds.
    window.total, window.requested, window.first, window.last = 0, 0, now, now - 1
    window.ends, window.sum, window.oldest, window.new = 0, 0, 0, true
    return window
  end
  local total, span, first, last, ends, sum, oldest =
    string.match(head, '^(%d+) ((%d+) (%d+) (%d+)) (%d+) (%d+)$')
  if not total then error('counter without a head that can be read: ' .. key) end
  window.total, window.span, window.first, window.last = amount_of(total), span, tonumber(first), tonumber(last)
  window.ends, window.sum, window.oldest = tonumber(ends), amount_of(sum), tonumber(oldest)
  while window.first <= window.last and window.oldest <= now - length_ms do window_drop(window) end
  window.requested = window.total
  if known then window_own(window, known, now) end
  return window
end

-- Reserves `requested`, less what others have reserved, in the bucket that ends at `ends`, in place of what
-- the subject has reserved: all amounts of a settle are granted, or none. If the last bucket ends later,
-- because the time of another source of the group is ahead, it gets the amount, which then counts longer than
-- necessary. Returns what the subject keeps; nothing if it has reserved the same there.
local function window_move(window, ends, clock)
  local key, begins = window.key, window.ends < ends
  local asked = amount_subtract(window.requested, amount_subtract(window.total, window.own))
  if window.own_index == window.last and not begins and asked == window.own then return nil end
  local fields = {}
  if window.own_index == window.last then
    window.sum = amount_subtract(window.sum, window.own)
  elseif window.own_index then
    fields[1], fields[2] = ms(window.own_index),
      ms(window.own_ends) .. '|' .. amount_text(amount_subtract(window.own_sum, window.own))
  end
  if begins then
    if window.first <= window.last then
      fields[#fields + 1] = ms(window.last)
      fields[#fields + 1] = ms(window.ends) .. '|' .. amount_text(window.sum)
    else
      window.oldest = ends
    end
    window.last, window.ends, window.sum, window.span = window.last + 1, ends, asked, nil
  else
    window.sum = amount_add(window.sum, asked)
  end
  window.span = window.span or ms(window.first) .. ' ' .. ms(window.last) .. ' ' .. ms(window.ends)
  redis.call('HSET', key, 'head', amount_text(window.requested) .. ' ' .. window.span .. ' '
    .. amount_text(window.sum) .. ' ' .. ms(window.oldest), unpack(fields))
  if #window.expired > 0 then redis.call('HDEL', key, unpack(window.expired)) end
  if begins then
    local lives_ms = ms(window.ends + window.length_ms - clock + EXPIRY_SLACK_MS)
    if window.new then
      redis.call('PEXPIRE', key, lives_ms)
    else
      redis.call('PEXPIRE', key, lives_ms, 'GT')
    end
  end
  return ms(window.ends + window.length_ms) .. ' ' .. ms(window.last) .. ' ' .. amount_short(asked)
end
