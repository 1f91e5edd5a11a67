--- @include order

-- order: the callback agrees with the order that was announced for the subject. Header: number of members,
-- number of their other texts. Texts: name and text of each member, then of each other text. Both the order
-- and the subject keep when the order was used, so that a subject which Redis forgot does not use the order a
-- second time.
function CLAIM_KINDS.order()
  local kind = {}

  function kind.read(claim, header, rest, at)
    local count, others = string.match(header, '^(%d+) (%d+)$', rest)
    if not count then error('unknown claim: ' .. header) end
    claim.remembered, claim.members = 'order', {}
    local last = at + 2 * (tonumber(count) + tonumber(others))
    for name = at, last - 2, 2 do
      local texts = claim.members[ARGV[name]] or {}
      texts[ARGV[name + 1]], claim.members[ARGV[name]] = true, texts
    end
    return last
  end

  local function order_found(order, claim, step, differs)
    if not order then return 'missing' end
    -- The subject keeps when it used an order.
    claim.in_use = order.state == 'used' and order.ended == claim.known
    local state = order_state(order, step.now)
    if state ~= 'expected' and not claim.in_use then return state end
    for name, text in pairs(order.members) do
      if not (claim.members[name] or {})[text] then table.insert(differs, name) end
    end
    return #differs == 0 and 'agrees' or 'differs'
  end

  function kind.check(claim, step)
    local differs = {}
    claim.order = order_read(claim.key)
    local found = order_found(claim.order, claim, step, differs)
    claim.holds = found == 'agrees'
    claim.usable = claim.holds or found == 'differs'
    local result = { 'o', '0', found }
    for _, name in ipairs(differs) do table.insert(result, name) end
    return result
  end

  -- Uses an expected order; if the claim only observes, also one that differs. Never uses an expired order: it
  -- would hold from then on, once the rule is enforced.
  function kind.reserve(claim, step, fields)
    local order = claim.order
    if not claim.usable then return end
    if order.state == 'expected' then
      redis.call('HSET', claim.key, 'state', 'used', 'ended', ms(step.now))
      table.insert(fields, 'order')
      table.insert(fields, ms(step.now))
    end
    order_keep(claim.key, order.expires, step.clock, step.subject_ms)
  end

  return kind
end
