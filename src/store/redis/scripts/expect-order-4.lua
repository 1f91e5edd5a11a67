-- Announces an order, unless the subject has an expected or a used order. A cancelled order, or one that
-- expired unused, is replaced.
--
-- KEYS 1 control, 2 order, 3 subject, 4 journal
-- ARGV 1 clock, 2 journal retention ms, 3 subject retention ms, 4 subject, 5 expires at ms, 6 by, 7 detail,
--      8 and on each member's name and text
-- Returns {expected | unchanged | conflict, state, the order's fields}
--- @include journal
--- @include order

local MEMBERS_FROM = 8

local control, key, subject, journal = KEYS[1], KEYS[2], KEYS[3], KEYS[4]
local clock = time_clock(ARGV[1])
local now = time_now(control, ARGV[1])

local function same(order)
  local names = 0
  for _ in pairs(order.members) do names = names + 1 end
  for at = MEMBERS_FROM, #ARGV, 2 do
    if order.members[ARGV[at]] ~= ARGV[at + 1] then return false end
  end
  return order.expires == ARGV[5] and names == (#ARGV - MEMBERS_FROM + 1) / 2
end

local standing = order_read(key)
if standing then
  local state = order_state(standing, now)
  if state == 'used' then return { 'conflict', state, standing.flat } end
  if state == 'expected' then
    return { same(standing) and 'unchanged' or 'conflict', state, standing.flat }
  end
end
local known = redis.call('HGET', subject, 'entries')

local entry = { type = 'order', subject = ARGV[4], detail = ARGV[7] }
local id = journal_append(journal, control, now, ARGV[2], entry)
journal_about(subject, known, id, ARGV[3])
local fields = { 'state', 'expected', 'announced', ms(now), 'expires', ARGV[5], 'ended', '0', 'by', ARGV[6] }
for at = MEMBERS_FROM, #ARGV, 2 do
  table.insert(fields, 'm:' .. ARGV[at])
  table.insert(fields, ARGV[at + 1])
end
redis.call('DEL', key)
fields_set(key, fields)
order_keep(key, ARGV[5], clock, ARGV[3])
local order = order_read(key)
return { 'expected', order_state(order, now), order.flat }
