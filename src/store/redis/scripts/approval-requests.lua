-- Reads approval requests and changes nothing.
--
-- KEYS 1 control of the source, or in force, 2 open requests, then each request
-- ARGV 1 clock, then the id of each request
-- Returns for each {version, value, whether it is open (1 or 0), used by}; nothing for one that does not exist
--- @include approval_request

local now = time_now(KEYS[1], ARGV[1])
local found = {}
for number = 3, #KEYS do
  local request = approval_request_read(KEYS[number], KEYS[2], ARGV[number - 1], now)
  found[number - 2] = request
    and { ms(request.version), request.value, request.open and '1' or '0', request.used } or false
end
return found
