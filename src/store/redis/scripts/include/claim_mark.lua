--- @include time

-- A claim on a mark, a key with the ms at which it was made. Its head goes on with exempt (1 or 0) and the
-- least age in ms.

local mark_kind = {}

function mark_kind.read(claim, head, rest, at)
  local exempt, age_ms = string.match(head, '^([01]) (%d+)$', rest)
  if not exempt then error('unknown claim: ' .. head) end
  claim.exempt, claim.age_ms = exempt == '1', tonumber(age_ms)
  return at
end

function mark_kind.check(claim, step)
  local marked = redis.call('GET', claim.key)
  if marked and not string.match(marked, '^%d+$') then error('mark without its time: ' .. claim.key) end
  claim.marked = marked
  claim.holds = claim.exempt or marked and tonumber(marked) <= step.now - claim.age_ms
  return { 'mark', '0', marked or '0' }
end

-- Makes the mark, or lets it live for as long again as the subject.
function mark_kind.reserve(claim, step)
  if claim.marked then
    redis.call('PEXPIRE', claim.key, step.subject_ms)
  else
    redis.call('SET', claim.key, ms(step.now), 'PX', step.subject_ms, 'NX')
  end
end
