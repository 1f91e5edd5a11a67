--- @include fields

-- A claim of a speed-up on what the subject was approved before. Its head goes on with the most other
-- speed-ups, and within how many ms. The subject has a decision under `d:` and the question, and one for each
-- speed-up of it under that, `+` and the number of txids there were by then.

local speed_up_kind = {}

function speed_up_kind.read(claim, head, rest, at)
  local max, within_ms = string.match(head, '^(%d+) (%d+)$', rest)
  if not max then error('unknown claim: ' .. head) end
  claim.max, claim.within_ms = tonumber(max), tonumber(within_ms)
  return at
end

-- When a decision was made that stands as an approval, in ms; 0 if none does.
local function approved_at(decision)
  local stands = decision and cjson.decode(decision) or {}
  return stands[1] == 'SUCCESS' and tonumber(string.match(stands[3], '^(%d+)%-')) or 0
end

function speed_up_kind.check(claim, step)
  local question, others = 'd:' .. step.asked, {}
  for txids = 0, #cjson.decode(step.txids or '[]') do
    local other = question .. '+' .. txids
    if other ~= step.question then table.insert(others, other) end
  end
  local at, speed_ups = approved_at(step.decision), 0
  for _, decision in ipairs(fields_get(claim.key, others)) do
    if approved_at(decision) > 0 then speed_ups = speed_ups + 1 end
  end
  claim.holds = at > 0 and step.now - at <= claim.within_ms and speed_ups < claim.max
  return { 'speed-up', '0', ms(at), ms(speed_ups) }
end
