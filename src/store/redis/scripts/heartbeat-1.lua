-- Records the heartbeat of a service, and the number of the last request for heartbeats, which it answers.
-- Removes services that were silent for a lifetime.
--
-- KEYS 1 services
-- ARGV 1 clock, 2 lifetime ms, 3 id, 4 name, 5 sequence, 6 trouble
-- Returns nothing
--- @include time

local now = time_clock(ARGV[1])
local rows = redis.call('HGETALL', KEYS[1])
local call = '0'
for at = 1, #rows, 2 do
  if rows[at] == 'call' then
    call = rows[at + 1]
  elseif tonumber(cjson.decode(rows[at + 1])[5]) < now - tonumber(ARGV[2]) then
    redis.call('HDEL', KEYS[1], rows[at])
  end
end
redis.call('HSET', KEYS[1], ARGV[3], cjson.encode({ ARGV[4], ARGV[5], call, ARGV[6], ms(now) }))
redis.call('PEXPIRE', KEYS[1], ARGV[2])
