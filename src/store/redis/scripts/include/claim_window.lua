--- @include window

-- A claim on a counter. Its head goes on with the field by which the subject remembers what it has reserved,
-- and until when that counts; amount and max; length ms, bucket ms (0: calendar) and the end of a calendar
-- period in ms.

local window_kind, windows = {}, {}

function window_kind.read(claim, head, rest, at, step)
  local remembered, amount, max, length_ms, bucket_ms, end_ms =
    string.match(head, '^(r:%x+) (%w+) (%w+) (%d+) (%d+) (%d+)$', rest)
  if not remembered then error('unknown claim: ' .. head) end
  claim.remembered, claim.amount, claim.max = remembered, amount_read(amount), amount_read(max)
  claim.length_ms, claim.ends = tonumber(length_ms), tonumber(end_ms)
  local bucket = tonumber(bucket_ms)
  if bucket > 0 then claim.ends = step.now - step.now % bucket + bucket end
  return at
end

function window_kind.check(claim, step)
  local window = windows[claim.key] or window_read(claim.key, step.now, claim.length_ms)
  if window.length_ms ~= claim.length_ms then error('one counter with two lengths: ' .. claim.key) end
  windows[claim.key], claim.window = window, window
  claim.reserved = tonumber(claim.known or '0') > step.now
  local used = window.asked
  if claim.reserved then
    claim.holds = true
  else
    window.asked = amount_add(used, claim.amount)
    claim.holds = amount_at_most(window.asked, claim.max)
  end
  return { 'window', '0', claim.reserved and '1' or '0', amount_text(used) }
end

-- Adds to the counter what was not reserved before. After the time that is remembered, what the subject asks
-- again would be approved without a limit.
function window_kind.reserve(claim, step, fields)
  if claim.reserved then return end
  window_add(claim.window, claim.amount, claim.ends, step.clock)
  fields[#fields + 1] = claim.remembered
  fields[#fields + 1] = ms(claim.window.ends + claim.length_ms)
end
