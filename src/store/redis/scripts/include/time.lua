local function ms(number) return string.format('%.0f', number) end

-- Milliseconds now, which never run backwards: the largest seen is kept in the control's `now`. Also the clock as it
-- stands, by which Redis expires keys. `given` is a test's clock; the empty text asks Redis.
local function time_now(control, given)
  local clock
  if given == '' then
    local time = redis.call('TIME')
    clock = tonumber(time[1]) * 1000 + math.floor(tonumber(time[2]) / 1000)
  else
    clock = tonumber(given)
  end
  return math.max(clock, tonumber(redis.call('HGET', control, 'now') or '0')), clock
end
