local function ms(number) return string.format('%.0f', number) end

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
