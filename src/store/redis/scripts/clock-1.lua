-- Advances the time of a control to the clock, unless the clock has jumped ahead: see
-- src/store/clock-state.ts.
--
-- KEYS 1 control of a source, or in force
-- ARGV 1 clock, 2 mode: keep; look, which writes nothing; try, which writes the time unchanged, 3 longest gap
--      in ms without any running service, 4 what the clock should show by the time that passed in the caller
--      since it found the clock right, or empty
-- Returns {right | jumped | forgotten, clock ms, now ms, most ms that the clock was ahead during this jump}
--- @include time

-- `held` describes a jump: the clock when it was found, and the most that it was ahead since.
local kept = redis.call('HMGET', KEYS[1], 'now', 'held', 'kept')
local mode, gap, expected = ARGV[2], tonumber(ARGV[3]), tonumber(ARGV[4])
local clock, step = time_clock(ARGV[1])
local now, held = tonumber(kept[1] or '0'), kept[2]
local held_at, held_ahead = string.match(held or '', '^(%d+) (%d+)$')
held_at, held_ahead = tonumber(held_at or '0'), tonumber(held_ahead or '0')

local function is_right()
  -- No service has compared the clock yet.
  if not kept[3] then return true end
  -- By this clock, Redis may have expired keys that still count, even if the clock is corrected now.
  if held_ahead > EXPIRY_SLACK_MS then return false end
  if not held and clock - now <= step then return true end
  if expected then return clock <= expected + step end
  -- During a known jump, only a clock before the one that was found can have been corrected.
  return clock - now <= gap and (not held or clock < held_at)
end

local right = is_right()
if right then
  now = math.max(now, clock)
elseif expected then
  -- The time that passed in the caller is right even while the clock is not.
  now = math.max(now, math.min(expected, clock))
end
local found = 'right'
if not right then
  held_ahead = math.max(held_ahead, clock - now)
  found = held_ahead > EXPIRY_SLACK_MS and 'forgotten' or 'jumped'
end

if mode == 'try' then
  redis.call('HSET', KEYS[1], 'now', kept[1] or '0')
elseif mode == 'keep' and right then
  redis.call('HSET', KEYS[1], 'now', ms(now), 'kept', '1')
  if held then redis.call('HDEL', KEYS[1], 'held') end
elseif mode == 'keep' then
  redis.call('HSET', KEYS[1], 'now', ms(now))
  if expected or held_ahead > EXPIRY_SLACK_MS then
    redis.call('HSET', KEYS[1], 'held', ms(held and held_at or clock) .. ' ' .. ms(held_ahead))
  end
end
return { found, ms(clock), ms(now), ms(held_ahead) }
