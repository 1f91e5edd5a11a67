--- @include window

-- window: a counter has room for an amount. Header: the field in which the subject keeps until when its
-- reservation counts, amount, maximum, length ms, bucket ms (0 for a calendar period), end of a calendar
-- period in ms.
function CLAIM_KINDS.window()
  local kind, windows = { plain = true }, {}

  function kind.read(claim, header, rest, at, step)
    local remembered, amount, max, length_ms, bucket_ms, end_ms =
      string.match(header, '^(r:[%w@-]+) (%w+) (%w+) (%d+) (%d+) (%d+)$', rest)
    if not remembered then error('unknown claim: ' .. header) end
    claim.remembered, claim.amount, claim.max = remembered, amount_read(amount), amount_read(max)
    claim.length_ms, claim.ends = tonumber(length_ms), tonumber(end_ms)
    local bucket = tonumber(bucket_ms)
    if bucket > 0 then claim.ends = step.now - step.now % bucket + bucket end
    return at
  end

  function kind.check(claim, step)
    local window = windows[claim.key] or window_read(claim.key, step.now, claim.length_ms)
    if window.length_ms ~= claim.length_ms then error('one counter with two lengths: ' .. claim.key) end
    windows[claim.key], claim.window = window, window
    claim.reserved = tonumber(claim.known or '0') > step.now
    local used = window.requested
    if claim.reserved then
      -- What the subject reserved may come from another alternative with a higher limit.
      claim.holds = not claim.optional or amount_at_most(used, claim.max)
    else
      window.requested = amount_add(used, claim.amount)
      claim.holds = amount_at_most(window.requested, claim.max)
    end
    return { 'w', '0', claim.reserved and '1' or '0', amount_short(used) }
  end

  function kind.undo(claim)
    if not claim.reserved then claim.window.requested = amount_subtract(claim.window.requested, claim.amount) end
  end

  -- Adds the amount to the counter, unless the subject has reserved it. The reservation ends with the window:
  -- otherwise a repeat after it would be approved without a limit.
  function kind.reserve(claim, step, fields)
    if claim.reserved then return end
    window_add(claim.window, claim.amount, claim.ends, step.clock)
    fields[#fields + 1] = claim.remembered
    fields[#fields + 1] = ms(claim.window.ends + claim.length_ms)
  end

  return kind
end
