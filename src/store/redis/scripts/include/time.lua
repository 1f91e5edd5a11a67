-- What is larger has no digits that could be trusted; a time in milliseconds is far below.
local TOO_LARGE = 1e18

-- How long a counter outlives what it holds. Redis expires keys by its own clock, also while that is wrong:
-- what counts is not lost by a jump of at most this.
local EXPIRY_SLACK_MS = 86400000

-- A whole number as its digits, which `..` would round to the first 14.
local function ms(number)
  if not (number < TOO_LARGE) then error('not a number of milliseconds: ' .. tostring(number)) end
  return string.format('%d', number)
end

-- The clock as it stands, in milliseconds, and how far it may be ahead of time. `given` is `+` and the
-- latter; without it the clock may be anywhere. What stands before that is a test's clock; else Redis is
-- asked.
local function time_clock(given)
  local clock, step = string.match(given, '^(%d*)%+?(%d*)$')
  step = tonumber(step) or math.huge
  if clock ~= '' then return tonumber(clock), step end
  local time = redis.call('TIME')
  return tonumber(time[1]) * 1000 + math.floor(tonumber(time[2]) / 1000), step
end

-- Milliseconds now, which never run backwards, nor far ahead of what is kept in the control's `now`; by how
-- many the clock is ahead of it, if it is not believed, else 0; the clock. `held` is the control's field of
-- that name: see clock-1.lua.
local function time_of(kept, held, given)
  local clock, step = time_clock(given)
  kept = tonumber(kept or '0')
  if held or kept > 0 and clock - kept > step then return kept, math.max(1, clock - kept), clock end
  return math.max(clock, kept), 0, clock
end

local function time_now(control, given)
  local kept = redis.call('HMGET', control, 'now', 'held')
  return time_of(kept[1], kept[2], given)
end
