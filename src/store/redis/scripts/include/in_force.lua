--- @include time
--- @include frozen

-- The most freezes that can be in effect at once. A further freeze joins the newest freeze of its kind and
-- gets its id, so that an unfreeze lifts both.
local FREEZES_MAX = 100
local JOINED = ' (this id also covers an earlier freeze; see the journal)'
-- How many lifted freezes are kept for the services, and how many freeze events for sources that can't be
-- reached.
local LIFTED_MAX, EVENTS_MAX = 20, 100

local function in_force_list(json)
  return (not json or json == '') and {} or cjson.decode(json)
end

-- An empty list becomes the empty text, because cjson would encode it as an object.
local function in_force_json(list)
  return #list == 0 and '' or cjson.encode(list)
end

-- The field `frozen`.
local function in_force_frozen(state)
  for _, freeze in ipairs(state.freezes) do
    if freeze[2] ~= EXCEPT_APPROVED then return '1' end
  end
  return #state.freezes > 0 and EXCEPT_APPROVED or ''
end

local function in_force_freeze_json(freeze)
  return '{"id":' .. cjson.encode(freeze[1]) .. ',"kind":' .. cjson.encode(freeze[2])
    .. ',"reason":' .. cjson.encode(freeze[3]) .. ',"by":' .. cjson.encode(freeze[4])
    .. ',"atMs":' .. freeze[5] .. '}'
end

-- Adds a freeze event, which each source will write to its journal: see FreezeDetail in src/store/freezes.ts.
-- `reason` is that of an unfreeze, if it has one.
local function in_force_event(state, change, by, at, freezes, reason)
  local changed, ids = {}, {}
  for index, freeze in ipairs(freezes) do changed[index] = in_force_freeze_json(freeze) end
  for index, freeze in ipairs(state.freezes) do ids[index] = cjson.encode(freeze[1]) end
  local why = (reason or '') == '' and '' or ',"reason":' .. cjson.encode(reason)
  local detail = '{"change":"' .. change .. '","by":' .. cjson.encode(by) .. why .. ',"atMs":' .. at
    .. ',"freezes":[' .. table.concat(changed, ',') .. '],"standing":[' .. table.concat(ids, ',') .. ']}'
  table.insert(state.acts, { ms(state.sequence) .. '-' .. at, detail })
  if #state.acts > EVENTS_MAX then table.remove(state.acts, 1) end
end

-- Returns a new id. Its number is at least the sequence, so it increases even after a failover that lost the
-- newest id.
local function in_force_id(state)
  state.ids = math.max(state.ids + 1, state.sequence)
  return 'f' .. ms(state.ids)
end

-- Adds a freeze: {id, kind, reason, by, when}, all texts.
local function in_force_freeze(state, kind, reason, by, at)
  local freeze, text = { false, kind, reason, by, at }, reason
  if #state.freezes >= FREEZES_MAX then
    for index = #state.freezes, 1, -1 do
      if state.freezes[index][2] == kind then
        freeze[1], text = table.remove(state.freezes, index)[1], reason .. JOINED
        break
      end
    end
  end
  freeze[1] = freeze[1] or in_force_id(state)
  table.insert(state.freezes, { freeze[1], kind, text, by, at })
  in_force_event(state, 'freeze', by, at, { freeze })
  return freeze
end

local function in_force_read(key, clock)
  local found = redis.call('HMGET', key, 'sequence', 'revision', 'prices', 'epoch', 'lost', 'freezes', 'lifted',
    'acts', 'ids')
  return {
    key = key, sequence = tonumber(found[1] or '0'), revision = found[2] or '', prices = found[3] or '0',
    epoch = found[4], lost = found[5] or '', freezes = in_force_list(found[6]),
    lifted = in_force_list(found[7]), acts = in_force_list(found[8]), ids = tonumber(found[9] or '0'),
    now = time_now(key, clock),
  }
end

-- Writes the record. The caller has increased its sequence, and must then update the copies.
local function in_force_write(state)
  local stopped = false
  for _, freeze in ipairs(state.freezes) do stopped = stopped or freeze[2] == 'loss' end
  redis.call('HSET', state.key, 'sequence', ms(state.sequence), 'revision', state.revision,
    'frozen', in_force_frozen(state), 'prices', state.prices, 'freezes', in_force_json(state.freezes),
    'lifted', in_force_json(state.lifted), 'acts', in_force_json(state.acts),
    'ids', ms(state.ids), 'now', ms(state.now))
  if stopped then
    redis.call('HSET', state.key, 'stopped', '1')
  else
    redis.call('HDEL', state.key, 'stopped')
  end
end

-- Returns {sequence, revision, frozen, version of the prices, freezes, lifted}, after `first` if given.
local function in_force_reply(state, first)
  local reply = { ms(state.sequence), state.revision, in_force_frozen(state), state.prices,
    in_force_json(state.freezes), in_force_json(state.lifted) }
  if first then table.insert(reply, 1, first) end
  return reply
end
