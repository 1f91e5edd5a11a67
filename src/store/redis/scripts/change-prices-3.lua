-- Changes prices, which increases the version. The caller must then update the copies of in force.
--
-- KEYS 1 in force, 2 prices, 3 history of prices
-- ARGV 1 clock, 2 retention ms of the history, 3 the change for the history, 4 number of assets to remove,
--      then these assets, then the assets to set, each followed by its price
-- Returns {sequence, revision, frozen, version, freezes, lifted, the table's fields}
--- @include fields
--- @include in_force

-- A change removes up to two entries of the history and adds one, so that the history can get shorter.
local REMOVED_PER_CHANGE = 2

local key, history = KEYS[2], KEYS[3]
local state = in_force_read(KEYS[1], ARGV[1])
local now = state.now
local current = redis.call('HMGET', key, 'version', 'server')
local before = math.max(tonumber(current[1] or '0'), tonumber(state.prices))

-- Two different tables must never have the same version. A server that was restarted or promoted may lack
-- versions that a service has read. So it continues with its time in microseconds, which exceeds all earlier
-- versions.
local server = (string.match(redis.call('INFO', 'server'), 'run_id:(%x+)') or '')
  .. ' ' .. (string.match(redis.call('INFO', 'replication'), 'master_replid:(%x+)') or '')
local version = before + 1
if before > 0 and current[2] ~= server then
  local time = redis.call('TIME')
  version = math.max(version, tonumber(time[1]) * 1000000 + tonumber(time[2]))
end
version = ms(version)

redis.call('XADD', history, version .. '-0', 'at', ms(now), 'change', ARGV[3])
for _, entry in ipairs(redis.call('XRANGE', history, '-', '+', 'COUNT', REMOVED_PER_CHANGE)) do
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
