-- A running service shows itself, and answers the last call. Those that have not for a day are forgotten.
--
-- KEYS 1 services
-- ARGV 1 clock, 2 id, 3 name, 4 sequence, 5 trouble
-- Returns nothing
--- @include time

local DAY_MS = 86400000

local now = time_clock(ARGV[1])
local rows = redis.call('HGETALL', KEYS[1])
local call = '0'
for at = 1, #rows, 2 do
  if rows[at] == 'call' then
    call = rows[at + 1]
  elseif tonumber(cjson.decode(rows[at + 1])[5]) < now - DAY_MS then
    redis.call('HDEL', KEYS[1], rows[at])
  end
end
redis.call('HSET', KEYS[1], ARGV[2], cjson.encode({ ARGV[3], ARGV[4], call, ARGV[5], ms(now) }))
redis.call('PEXPIRE', KEYS[1], DAY_MS)
