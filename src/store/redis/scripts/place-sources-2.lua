-- Finds the slot in which the keys of each source are, and chooses that of new sources: see places.ts.
--
-- KEYS 1 in force, 2 the known sources
-- ARGV 1 whether to choose the slot of new sources (1 or 0), then for each source its name and the group that it
--      has in the settings, or the empty text
-- Returns JSON: for each source with a slot, the group whose slot it is, or the empty text for its own slot
local places = cjson.decode(redis.call('HGET', KEYS[1], 'groups') or '{}')
local chosen = false
for at = 2, #ARGV, 2 do
  local source, group = ARGV[at], ARGV[at + 1]
  if not places[source] then
    -- Sources that were known before there were groups are not recorded, and have their own slots.
    if redis.call('SMISMEMBER', KEYS[2], source)[1] == 1 then
      places[source] = ''
    elseif ARGV[1] == '1' then
      places[source], chosen = group, true
    end
  end
end
local json = cjson.encode(places)
if chosen then redis.call('HSET', KEYS[1], 'groups', json) end
return json
