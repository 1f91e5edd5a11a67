-- Says which effects stand in this primary's history, and writes, so that a WAIT after it waits for them and all before.
--
-- KEYS 1 barrier, then for each effect in order its keys: an entry's journal and subject, any other's hash
-- ARGV 1 lifetime of the barrier ms, then for each effect, an argument each
--      entry, its id, subject, terms: the journal has it, as a SUCCESS about this subject; if terms are given, these
--      least, field, number: the hash's field begins with this number or a higher one
--      same, field, text: the hash's field holds this text
-- Returns 1 or 0 for each effect, in order
local key, at = 2, 2

local function take_key()
  key = key + 1
  return KEYS[key - 1]
end

local function take()
  at = at + 1
  return ARGV[at - 1]
end

local function named(flat)
  local fields = {}
  for index = 1, #flat, 2 do fields[flat[index]] = flat[index + 1] end
  return fields
end

-- An id alone says too little: after a failover that lost it, another entry may have been given it again.
local function entry(journal, subject_key, id, subject, terms)
  local found = redis.call('XRANGE', journal, id, id)[1]
  if not found then return false end
  local fields = named(found[2])
  if fields.subject ~= subject or fields.verdict ~= 'SUCCESS' then return false end
  return terms == '' or redis.call('HGET', subject_key, 'terms') == terms
end

local KINDS = {
  entry = function()
    local journal, subject_key = take_key(), take_key()
    local id, subject, terms = take(), take(), take()
    return entry(journal, subject_key, id, subject, terms)
  end,
  least = function()
    local held = redis.call('HGET', take_key(), take())
    return tonumber(string.match(held or '', '^%d+') or '-1') >= tonumber(take())
  end,
  same = function()
    local held = redis.call('HGET', take_key(), take())
    return held == take()
  end,
}

local stands = {}
while at <= #ARGV do
  local kind = KINDS[take()]
  if not kind then error('unknown effect: ' .. ARGV[at - 1]) end
  stands[#stands + 1] = kind() and 1 or 0
end
redis.call('SET', KEYS[1], '', 'PX', ARGV[1])
return stands
