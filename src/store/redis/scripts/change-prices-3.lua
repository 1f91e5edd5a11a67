-- Changes prices, and makes a version. What is in force then has to be spread to the sources.
--
-- KEYS 1 in force, 2 prices, 3 history of prices
-- ARGV 1 clock, 2 retention ms of the history, 3 the change for the history, 4 number of assets to remove, these,
--      the assets to set, each followed by its price
-- Returns {sequence, revision, frozen, version, freezes, lifted, the table's fields}
--- @include fields
--- @include in_force

-- A change may remove more than it adds to the history, or it would never get shorter.
local FORGOTTEN_AT_ONCE = 2

local key, history = KEYS[2], KEYS[3]
local state = in_force_read(KEYS[1], ARGV[1])
local now = state.now
local stands = redis.call('HMGET', key, 'version', 'server')
local before = math.max(tonumber(stands[1] or '0'), tonumber(state.prices))

-- No two tables may ever have one version. A server that was started anew or took over may lack versions that
-- somebody has read; it leaps past them to its time in microseconds, which no other server leaps to.
local server = (string.match(redis.call('INFO', 'server'), 'run_id:(%x+)') or '')
  .. ' ' .. (string.match(redis.call('INFO', 'replication'), 'master_replid:(%x+)') or '')
local version = before + 1
if before > 0 and stands[2] ~= server then
  local time = redis.call('TIME')
  version = math.max(version, tonumber(time[1]) * 1000000 + tonumber(time[2]))
end
version = ms(version)

redis.call('XADD', history, version .. '-0', 'at', ms(now), 'change', ARGV[3])
for _, entry in ipairs(redis.call('XRANGE', history, '-', '+', 'COUNT', FORGOTTEN_AT_ONCE)) do
  if tonumber(entry[2][2]) < now - tonumber(ARGV[2]) then redis.call('XDEL', history, entry[1]) end
end

local removed, fields = 4 + tonumber(ARGV[4]), { 'version', version, 'server', server }
for at = 5, removed do redis.call('HDEL', key, 'a:' .. ARGV[at]) end
for at = removed + 1, #ARGV, 2 do
  table.insert(fields, 'a:' .. ARGV[at])
  table.insert(fields, ARGV[at + 1])
end
fields_set(key, fields)
state.sequence, state.prices = state.sequence + 1, version
in_force_write(state)
local reply = in_force_reply(state)
table.insert(reply, redis.call('HGETALL', key))
return reply
