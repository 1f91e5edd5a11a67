--- @include fields

local function list_texts(claim, count, others, at)
  local values, last = {}, at + count
  for index = 1, count do values[index] = ARGV[at + index] end
  claim.name, claim.values = ARGV[at], values
  if others == 0 then return last + 1 end
  claim.texts, claim.value_of = {}, {}
  for index = 1, count do claim.texts[index], claim.value_of[index] = values[index], index end
  for index = 1, others do
    claim.texts[count + index] = ARGV[last + 2 * index]
    claim.value_of[count + index] = tonumber(ARGV[last + 2 * index - 1])
  end
  return last + 2 * others + 1
end

local function list_version(lists, name)
  return string.match(redis.call('HGET', lists, name) or '', '^%d+') or '0'
end

-- Returns when the first text of each value was added, or nil or false; then whether the list is missing.
-- Remembers the version of the list, because a refusal depends on it.
local function list_look_up(claim, step)
  local version = list_version(step.lists, claim.name)
  step.versions[claim.name] = version
  if not claim.texts then return fields_get(claim.key, claim.values), version == '0' end
  local added = {}
  for index, at in ipairs(fields_get(claim.key, claim.texts)) do
    local value = claim.value_of[index]
    if at and (not added[value] or tonumber(at) < tonumber(added[value])) then added[value] = at end
  end
  return added, version == '0'
end

-- list: the list has all of the values, or none. Header: hold-all or hold-none, number of values, number of
-- their other texts. Texts: name of the list, the values, then each other text after the number of its value.
function CLAIM_KINDS.list()
  local kind = {}

  function kind.read(claim, header, rest, at)
    local must, count, others = string.match(header, '^(hold%-%l+) (%d+) (%d+)$', rest)
    if not must then error('unknown claim: ' .. header) end
    claim.must = must
    return list_texts(claim, tonumber(count), tonumber(others), at)
  end

  function kind.check(claim, step)
    local added, missing = list_look_up(claim, step)
    local result, present = { 'l', '0', missing and '1' or '0' }, 0
    for index, value in ipairs(claim.values) do
      if added[index] then
        present = present + 1
        result[3 + present] = value
      end
    end
    claim.failed = claim.failed or missing
    -- No rule makes a claim without values. It holds neither way.
    local can_hold = not missing and #claim.values > 0
    if claim.must == 'hold-all' then
      claim.holds = can_hold and present == #claim.values
    else
      claim.holds = can_hold and claim.must == 'hold-none' and present == 0
    end
    return result
  end

  return kind
end

-- aged: the list has had all of the values for some time. Header: least age in ms, then as of a list. Texts: as
-- of a list.
function CLAIM_KINDS.aged()
  local kind = {}

  function kind.read(claim, header, rest, at)
    local age_ms, count, others = string.match(header, '^(%d+) (%d+) (%d+)$', rest)
    if not age_ms then error('unknown claim: ' .. header) end
    claim.age_ms = tonumber(age_ms)
    return list_texts(claim, tonumber(count), tonumber(others), at)
  end

  function kind.check(claim, step)
    local added, missing = list_look_up(claim, step)
    local result, old = { 'a', '0', missing and '1' or '0' }, 0
    for index, value in ipairs(claim.values) do
      local at = added[index]
      if at then
        if not string.match(at, '^%d+$') then error('list entry without its time: ' .. claim.key) end
        if tonumber(at) <= step.now - claim.age_ms then old = old + 1 end
        table.insert(result, { value, at })
      end
    end
    claim.failed = claim.failed or missing
    claim.holds = not missing and #claim.values > 0 and old == #claim.values
    return result
  end

  return kind
end
