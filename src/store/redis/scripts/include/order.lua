--- @include fields
--- @include time

-- An order is one hash: `state` (expected, used or cancelled), `announced`, `expires` and `ended` in ms,
-- `by`, and the text of each member in a field `m:` and its name.
local STATES = { expected = true, used = true, cancelled = true }

-- Returns the order with its members by name; nil without an order.
local function order_read(key)
  local flat = redis.call('HGETALL', key)
  if #flat == 0 then return nil end
  local order, members = { state = '' }, {}
  for at = 1, #flat, 2 do
    local field = flat[at]
    if string.sub(field, 1, 2) == 'm:' then
      members[string.sub(field, 3)] = flat[at + 1]
    else
      order[field] = flat[at + 1]
    end
  end
  if not STATES[order.state] then error('order without a state: ' .. key) end
  for _, field in ipairs({ 'announced', 'expires', 'ended' }) do
    if not string.match(order[field] or '', '^%d+$') then
      error('order without its ' .. field .. ': ' .. key)
    end
  end
  order.members, order.flat = members, flat
  return order
end

-- An order that was neither used nor cancelled in time is expired.
local function order_state(order, now)
  if order.state == 'expected' and tonumber(order.expires) <= now then return 'expired' end
  return order.state
end

-- Keeps the order as long as a subject, counted from its expiry or from now, whichever is later.
local function order_keep(key, expires, clock, subject_ms)
  redis.call('PEXPIRE', key, ms(math.max(0, tonumber(expires) - clock) + tonumber(subject_ms)))
end
