--- @include window

-- window: a counter has room for an amount. Header: the field in which the subject keeps what it has reserved
-- there (see window_read), amount, maximum, length ms, bucket ms (0 for a calendar period), end of a calendar
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
    local window = windows[claim.key] or window_read(claim.key, claim.known, step.now, claim.length_ms)
    if window.length_ms ~= claim.length_ms then error('one counter with two lengths: ' .. claim.key) end
    windows[claim.key], claim.window = window, window
    local used = window.requested
    window.requested = amount_add(used, claim.amount)
    claim.holds = amount_at_most(window.requested, claim.max)
    return { 'w', '0', amount_short(window.own), amount_short(used) }
  end

  function kind.undo(claim)
    claim.window.requested = amount_subtract(claim.window.requested, claim.amount)
  end

  -- Reserves what all claims on the counter ask for, in place of what the subject has reserved there.
  function kind.reserve(claim, step, fields)
    local window = claim.window
    if window.is_moved then return end
    window.is_moved = true
    local kept = window_move(window, claim.ends, step.clock)
    if not kept then return end
    fields[#fields + 1] = claim.remembered
    fields[#fields + 1] = kept
  end

  return kind
end
