--- @include order

-- A claim on the order that was announced for the subject. Its head goes on with the number of members;
-- texts: name and text of each. The order says that it was used, and the subject when: a subject that was
-- forgotten, and came again, does not.

local order_kind = {}

function order_kind.read(claim, head, rest, at)
  local count = tonumber(string.match(head, '^(%d+)$', rest))
  if not count then error('unknown claim: ' .. head) end
  claim.remembered, claim.members = 'order', {}
  for text = at, at + 2 * count - 2, 2 do claim.members[ARGV[text]] = ARGV[text + 1] end
  return at + 2 * count
end

local function order_found(order, claim, step, differs)
  if not order then return 'missing' end
  claim.in_use = order.state == 'used' and order.ended == claim.known
  local state = order_state(order, step.now)
  if state ~= 'expected' and not claim.in_use then return state end
  for name, text in pairs(order.members) do
    if claim.members[name] ~= text then table.insert(differs, name) end
  end
  return #differs == 0 and 'agrees' or 'differs'
end

function order_kind.check(claim, step)
  local differs = {}
  claim.order = order_read(claim.key)
  local found = order_found(claim.order, claim, step, differs)
  claim.holds = found == 'agrees'
  claim.usable = claim.holds or found == 'differs'
  local result = { 'order', '0', found }
  for _, name in ipairs(differs) do table.insert(result, name) end
  return result
end

-- Uses up what is neither used, cancelled nor expired: where the claim only observes, also what differs. One
-- that had expired when it was used would hold from then on, once the rule is enforced.
function order_kind.reserve(claim, step, fields)
  local order = claim.order
  if not claim.usable then return end
  if order.state == 'expected' then
    redis.call('HSET', claim.key, 'state', 'used', 'ended', ms(step.now))
    table.insert(fields, 'order')
    table.insert(fields, ms(step.now))
  end
  order_keep(claim.key, order.expires, step.clock, step.subject_ms)
end
