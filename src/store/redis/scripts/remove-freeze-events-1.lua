-- Forgets acts that every source has in its journal.
--
-- KEYS 1 in force
-- ARGV 1 acts
-- Returns how many are left
--- @include in_force

local given, left = {}, {}
for _, act in ipairs(in_force_list(ARGV[1])) do given[act[1]] = true end
for _, act in ipairs(in_force_list(redis.call('HGET', KEYS[1], 'acts'))) do
  if not given[act[1]] then table.insert(left, act) end
end
redis.call('HSET', KEYS[1], 'acts', in_force_json(left))
return #left
