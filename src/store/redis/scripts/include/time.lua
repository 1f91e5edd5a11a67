-- What is larger has no digits that could be trusted; a time in milliseconds is far below.
local TOO_LARGE = 1e18

-- A whole number as its digits, which `..` would round to the first 14.
local function ms(number)
  if not (number < TOO_LARGE) then error('not a number of milliseconds: ' .. tostring(number)) end
  return string.format('%d', number)
end

-- The clock as it stands, in milliseconds. `given` is a test's clock; the empty text asks Redis.
local function time_clock(given)
  if given ~= '' then return tonumber(given) end
  local time = redis.call('TIME')
  return tonumber(time[1]) * 1000 + math.floor(tonumber(time[2]) / 1000)
end

-- Milliseconds now, which never run backwards: the largest seen is kept in the control's `now`.
local function time_now(control, given)
  return math.max(time_clock(given), tonumber(redis.call('HGET', control, 'now') or '0'))
end
