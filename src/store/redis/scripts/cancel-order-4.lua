-- Cancels an order, if it is expected.
--
-- KEYS 1 control, 2 order, 3 subject, 4 journal
-- ARGV 1 clock, 2 journal retention ms, 3 subject retention ms, 4 subject, 5 by
-- Returns {cancelled | ended, state, the order's fields}; nothing if there is no order
--- @include journal
--- @include order

local control, key, subject, journal = KEYS[1], KEYS[2], KEYS[3], KEYS[4]
local now = time_now(control, ARGV[1])
local order = order_read(key)
if not order then return false end
local state = order_state(order, now)
if state ~= 'expected' then return { 'ended', state, order.flat } end
local known = redis.call('HGET', subject, 'entries')

-- Written as text, because cjson keeps only 14 digits of a number.
local detail = '{"change":"cancel","members":' .. cjson.encode(order.members)
  .. ',"expiresAtMs":' .. order.expires .. ',"by":' .. cjson.encode(ARGV[5]) .. '}'
local entry = { type = 'order', subject = ARGV[4], detail = detail }
local id = journal_append(journal, control, now, ARGV[2], entry)
journal_about(subject, known, id, ARGV[3])
redis.call('HSET', key, 'state', 'cancelled', 'ended', ms(now))
return { 'cancelled', 'cancelled', order_read(key).flat }
