-- Moves the time that is kept on with the clock, unless that has jumped ahead: see src/store/clock-state.ts.
--
-- KEYS 1 control of a source, or in force
-- ARGV 1 clock, 2 mode: keep; look, which writes nothing; try, which writes and moves nothing, 3 longest gap in ms while nobody
--      ran, 4 what the time must be by what the caller counted since it last believed the clock, or empty
-- Returns {right | jumped | forgotten, clock ms, now ms, most ms by which the clock was found ahead in this jump}
--- @include time

-- `held` is what is known of a jump: the clock when it was found, and by how much it was ahead at most.
local kept = redis.call('HMGET', KEYS[1], 'now', 'held', 'kept')
local mode, gap, witness = ARGV[2], tonumber(ARGV[3]), tonumber(ARGV[4])
local clock, step = time_clock(ARGV[1])
local now, held = tonumber(kept[1] or '0'), kept[2]
local held_at, held_ahead = string.match(held or '', '^(%d+) (%d+)$')
held_at, held_ahead = tonumber(held_at or '0'), tonumber(held_ahead or '0')

local function is_believed()
  -- A store from before time was kept.
  if not kept[3] then return true end
  -- Redis may have expired by this clock what still counts; once that is right it looks as if nothing had
  -- been.
  if held_ahead > EXPIRY_SLACK_MS then return false end
  if not held and clock - now <= step then return true end
  if witness then return clock <= witness + step end
  -- Time alone takes a clock that jumped further ahead: one that is less far was set back.
  return clock - now <= gap and (not held or clock < held_at)
end

local believed = is_believed()
if believed then
  now = math.max(now, clock)
elseif witness then
  -- What the caller counted is true also while the clock is not.
  now = math.max(now, math.min(witness, clock))
end
local found = 'right'
if not believed then
  held_ahead = math.max(held_ahead, clock - now)
  found = held_ahead > EXPIRY_SLACK_MS and 'forgotten' or 'jumped'
end

if mode == 'try' then
  redis.call('HSET', KEYS[1], 'now', kept[1] or '0')
elseif mode == 'keep' and believed then
  redis.call('HSET', KEYS[1], 'now', ms(now), 'kept', '1')
  if held then redis.call('HDEL', KEYS[1], 'held') end
elseif mode == 'keep' then
  redis.call('HSET', KEYS[1], 'now', ms(now))
  if witness or held_ahead > EXPIRY_SLACK_MS then
    redis.call('HSET', KEYS[1], 'held', ms(held and held_at or clock) .. ' ' .. ms(held_ahead))
  end
end
return { found, ms(clock), ms(now), ms(held_ahead) }
