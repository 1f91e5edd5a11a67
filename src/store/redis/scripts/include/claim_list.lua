--- @include fields

-- A claim on what a list holds. Its head goes on with hold-all or hold-none and the number of values; texts:
-- the list's name, the values.

local function list_texts(claim, count, at)
  claim.name, claim.values = ARGV[at], {}
  for index = 1, count do claim.values[index] = ARGV[at + index] end
  return at + count + 1
end

local function list_version(lists, name)
  return string.match(redis.call('HGET', lists, name) or '', '^%d+') or '0'
end

-- Of each of the values when it was added, false if the list does not hold it; then whether the list is
-- missing. Its version is kept, for a refusal depends on it.
local function list_look_up(claim, step)
  local version = list_version(step.lists, claim.name)
  step.versions[claim.name] = version
  return fields_get(claim.key, claim.values), version == '0'
end

local list_kind = {}

function list_kind.read(claim, head, rest, at)
  local must, count = string.match(head, '^(hold%-%l+) (%d+)$', rest)
  if not must then error('unknown claim: ' .. head) end
  claim.must = must
  return list_texts(claim, tonumber(count), at)
end

function list_kind.check(claim, step)
  local added, missing = list_look_up(claim, step)
  local result, present = { 'list', '0', missing and '1' or '0' }, 0
  for index, value in ipairs(claim.values) do
    if added[index] then
      present = present + 1
      result[3 + present] = value
    end
  end
  if claim.must == 'hold-all' then
    claim.holds = not missing and present == #claim.values
  else
    claim.holds = not missing and claim.must == 'hold-none' and present == 0
  end
  return result
end
