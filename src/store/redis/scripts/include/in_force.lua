--- @include time

-- So many freezes stand at once. None is refused for their number: a further one joins the newest of its
-- kind, under that one's id, and both are lifted as one.
local FREEZES = 100
local JOINED = ' (and what stood under this id before: see the journal)'
-- So many ends of freezes are known to those who follow, and so many acts wait for sources that can't be
-- reached.
local LIFTED, ACTS = 20, 100

-- What older versions write for a loss.
local LOSS_BY, LOSS_REASON = 'countersign', 'data was lost: '

local function in_force_list(json)
  return (not json or json == '') and {} or cjson.decode(json)
end

-- The empty text for an empty list, which cjson takes for an object.
local function in_force_json(list)
  return #list == 0 and '' or cjson.encode(list)
end

-- What the field `frozen` says, here and with each source: the empty text, or one freeze, a loss before all
-- others. Older versions know no more than this.
local function in_force_frozen(state)
  local told = state.freezes[#state.freezes]
  for _, freeze in ipairs(state.freezes) do
    if freeze[2] == 'loss' then told = freeze end
  end
  return told and cjson.encode({ told[3], told[4], told[5] }) or ''
end

local function in_force_freeze_json(freeze)
  return '{"id":' .. cjson.encode(freeze[1]) .. ',"kind":' .. cjson.encode(freeze[2])
    .. ',"reason":' .. cjson.encode(freeze[3]) .. ',"by":' .. cjson.encode(freeze[4]) .. ',"atMs":' .. freeze[5] .. '}'
end

-- Notes an act, which each source then writes to its journal: see FreezeDetail in src/store/freezes.ts.
local function in_force_act(state, change, by, at, freezes)
  local about, stand = {}, {}
  for index, freeze in ipairs(freezes) do about[index] = in_force_freeze_json(freeze) end
  for index, freeze in ipairs(state.freezes) do stand[index] = cjson.encode(freeze[1]) end
  local detail = '{"change":"' .. change .. '","by":' .. cjson.encode(by) .. ',"atMs":' .. at
    .. ',"freezes":[' .. table.concat(about, ',') .. '],"standing":[' .. table.concat(stand, ',') .. ']}'
  table.insert(state.acts, { ms(state.sequence) .. '-' .. at, detail })
  if #state.acts > ACTS then table.remove(state.acts, 1) end
end

-- An id that was never given. Numbers have gaps: they are no less than the sequence, by which they rise also
-- after a failover that lost the last of them.
local function in_force_id(state)
  state.ids = math.max(state.ids + 1, state.sequence)
  return 'f' .. ms(state.ids)
end

-- Adds a freeze: {id, kind, reason, by, when}, all texts.
local function in_force_freeze(state, kind, reason, by, at)
  local freeze, stands = { false, kind, reason, by, at }, reason
  if #state.freezes >= FREEZES then
    for index = #state.freezes, 1, -1 do
      if state.freezes[index][2] == kind then
        freeze[1], stands = table.remove(state.freezes, index)[1], reason .. JOINED
        break
      end
    end
  end
  freeze[1] = freeze[1] or in_force_id(state)
  table.insert(state.freezes, { freeze[1], kind, stands, by, at })
  in_force_act(state, 'freeze', by, at, { freeze })
  return freeze
end

-- Reads what is in force. What a version wrote that knows of one freeze only is made one of several here: a
-- freeze stands beside the others, and its end ends none of them.
local function in_force_read(key, clock)
  local found = redis.call('HMGET', key, 'sequence', 'revision', 'frozen', 'prices', 'epoch', 'lost', 'freezes', 'told',
    'lifted', 'acts', 'ids')
  local state = {
    key = key, sequence = tonumber(found[1] or '0'), revision = found[2] or '', prices = found[4] or '0',
    epoch = found[5], lost = found[6] or '', freezes = in_force_list(found[7]), lifted = in_force_list(found[9]),
    acts = in_force_list(found[10]), ids = tonumber(found[11] or '0'), now = time_now(key, clock),
  }
  local frozen = found[3] or ''
  if frozen ~= '' and frozen ~= (found[8] or '') then
    local reason, by, at = unpack(cjson.decode(frozen))
    local is_loss = by == LOSS_BY and string.sub(reason, 1, #LOSS_REASON) == LOSS_REASON
    in_force_freeze(state, is_loss and 'loss' or 'operator', reason, by, at)
  end
  return state
end

-- Writes it under the state's sequence, which the caller has raised. It then has to be spread to the sources.
local function in_force_write(state)
  local frozen, stopped = in_force_frozen(state), false
  for _, freeze in ipairs(state.freezes) do stopped = stopped or freeze[2] == 'loss' end
  redis.call('HSET', state.key, 'sequence', ms(state.sequence), 'revision', state.revision, 'frozen', frozen,
    'told', frozen, 'prices', state.prices, 'freezes', in_force_json(state.freezes), 'lifted', in_force_json(state.lifted),
    'acts', in_force_json(state.acts), 'ids', ms(state.ids), 'now', ms(state.now))
  if stopped then redis.call('HSET', state.key, 'stopped', '1') else redis.call('HDEL', state.key, 'stopped') end
end

-- {sequence, revision, frozen, version of the prices, freezes, lifted}, after `first` if it is given
local function in_force_reply(state, first)
  local reply = { ms(state.sequence), state.revision, in_force_frozen(state), state.prices,
    in_force_json(state.freezes), in_force_json(state.lifted) }
  if first then table.insert(reply, 1, first) end
  return reply
end
