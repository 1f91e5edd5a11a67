--- @include claim_list

-- A claim on how long a list has held its values. Its head goes on with the least age in ms and the number of
-- values; texts: the list's name, the values.

local aged_kind = {}

function aged_kind.read(claim, head, rest, at)
  local age_ms, count = string.match(head, '^(%d+) (%d+)$', rest)
  if not age_ms then error('unknown claim: ' .. head) end
  claim.age_ms = tonumber(age_ms)
  return list_texts(claim, tonumber(count), at)
end

function aged_kind.check(claim, step)
  local added, missing = list_look_up(claim, step)
  local result, old = { 'aged', '0', missing and '1' or '0' }, 0
  for index, value in ipairs(claim.values) do
    local at = added[index]
    if at then
      if not string.match(at, '^%d+$') then error('list entry without its time: ' .. claim.key) end
      if tonumber(at) <= step.now - claim.age_ms then old = old + 1 end
      table.insert(result, { value, at })
    end
  end
  claim.holds = not missing and #claim.values > 0 and old == #claim.values
  return result
end
