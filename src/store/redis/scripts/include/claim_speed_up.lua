--- @include fields

-- speed-up: the subject was approved before, not too long ago, with few other speed-ups. Header: most other
-- speed-ups, within how many ms. The subject keeps the decision on a question in the field `d:` and the
-- question, and that on each speed-up in the same field with `+` and the number of txids at that time.
CLAIM_KINDS['speed-up'] = function()
  local kind = { plain = true }

  function kind.read(claim, header, rest, at)
    local max, within_ms = string.match(header, '^(%d+) (%d+)$', rest)
    if not max then error('unknown claim: ' .. header) end
    claim.max, claim.within_ms = tonumber(max), tonumber(within_ms)
    return at
  end

  -- Returns when an approval was decided, in ms; 0 for any other decision.
  local function approved_at(decision)
    local earlier = decision and cjson.decode(decision) or {}
    return earlier[1] == 'SUCCESS' and tonumber(string.match(earlier[3], '^(%d+)%-')) or 0
  end

  function kind.check(claim, step)
    local question, others = 'd:' .. step.question, {}
    for txids = 0, #cjson.decode(step.txids or '[]') do
      local other = question .. '+' .. txids
      if other ~= step.field then table.insert(others, other) end
    end
    local at, speed_ups = approved_at(step.decision), 0
    for _, decision in ipairs(fields_get(claim.key, others)) do
      if approved_at(decision) > 0 then speed_ups = speed_ups + 1 end
    end
    claim.holds = at > 0 and step.now - at <= claim.within_ms and speed_ups < claim.max
    return { 's', '0', ms(at), ms(speed_ups) }
  end

  return kind
end
