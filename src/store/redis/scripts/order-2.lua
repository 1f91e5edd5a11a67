-- Reads an order and changes nothing.
--
-- KEYS 1 control, 2 order
-- ARGV 1 clock
-- Returns {state, the order's fields}; nothing if there is no order
--- @include order

local order = order_read(KEYS[2])
return order and { order_state(order, time_now(KEYS[1], ARGV[1])), order.flat } or false
