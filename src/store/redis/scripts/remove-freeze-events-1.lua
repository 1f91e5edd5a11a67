-- Removes the freeze events that every source has in its journal.
--
-- KEYS 1 in force
-- ARGV 1 events
-- Returns how many events are left
--- @include in_force

local removed, left = {}, {}
for _, event in ipairs(in_force_list(ARGV[1])) do removed[event[1]] = true end
for _, event in ipairs(in_force_list(redis.call('HGET', KEYS[1], 'acts'))) do
  if not removed[event[1]] then table.insert(left, event) end
end
redis.call('HSET', KEYS[1], 'acts', in_force_json(left))
return #left
