-- Above this bound, the digits of a double are not exact. A time in milliseconds is far below it.
local TOO_LARGE = 1e18

-- How long a counter outlives its content. Redis expires keys by its own clock, even while that is wrong: a
-- jump of up to this length deletes no counter that still counts.
local EXPIRY_SLACK_MS = 86400000

-- Formats a whole number exactly. `..` would keep only the first 14 digits.
local function ms(number)
  if not (number < TOO_LARGE) then error('not a number of milliseconds: ' .. tostring(number)) end
  return string.format('%d', number)
end

-- Returns the clock in ms, and how many ms it may be ahead of the time. `given` is a test's clock, or the
-- empty text for the clock of Redis, then optionally `+` and how many ms it may be ahead. Without `+`, it may
-- be ahead by any amount.
local function time_clock(given)
  local clock, step = string.match(given, '^(%d*)%+?(%d*)$')
  step = tonumber(step) or math.huge
  if clock ~= '' then return tonumber(clock), step end
  local time = redis.call('TIME')
  return tonumber(time[1]) * 1000 + math.floor(tonumber(time[2]) / 1000), step
end

-- Returns the time in ms, how many ms the clock is ahead (0 unless it has jumped), and the clock in ms. The
-- time never runs backwards. While the clock is too far ahead, the time stays at the control's field `now`.
-- `held` is the control's field of that name: see clock-1.lua.
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
