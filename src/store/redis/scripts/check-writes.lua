-- Checks which writes this primary has, and writes a key, so that a WAIT after it waits for the replicas to
-- have them all.
--
-- KEYS 1 barrier, then the keys of each write in order: for an entry its journal and its subject, otherwise a
--      hash
-- ARGV 1 lifetime of the barrier ms, then for each write its kind and the arguments of the kind:
--      entry, its id, subject, terms: the journal has it, as a SUCCESS about this subject; if terms are not
--        empty, the subject has these
--      at-least, field, number: the field starts with this number or a higher one
--      same, field, text: the field is this text
-- Returns 1 or 0 for each write, in order
local key, at = 2, 2

local function next_key()
  key = key + 1
  return KEYS[key - 1]
end

local function next_argument()
  at = at + 1
  return ARGV[at - 1]
end

local function fields_of(flat)
  local fields = {}
  for index = 1, #flat, 2 do fields[flat[index]] = flat[index + 1] end
  return fields
end

-- Compares more than the id: after a failover that lost the entry, another entry may have got the same id.
local function has_entry(journal, subject_key, id, subject, terms)
  local found = redis.call('XRANGE', journal, id, id)[1]
  if not found then return false end
  local fields = fields_of(found[2])
  if fields.subject ~= subject or fields.verdict ~= 'SUCCESS' then return false end
  return terms == '' or redis.call('HGET', subject_key, 'terms') == terms
end

local KINDS = {
  entry = function()
    local journal, subject_key = next_key(), next_key()
    local id, subject, terms = next_argument(), next_argument(), next_argument()
    return has_entry(journal, subject_key, id, subject, terms)
  end,
  ['at-least'] = function()
    local held = redis.call('HGET', next_key(), next_argument())
    return tonumber(string.match(held or '', '^%d+') or '-1') >= tonumber(next_argument())
  end,
  same = function()
    local held = redis.call('HGET', next_key(), next_argument())
    return held == next_argument()
  end,
}

local present = {}
while at <= #ARGV do
  local kind = KINDS[next_argument()]
  if not kind then error('unknown kind of write: ' .. ARGV[at - 1]) end
  present[#present + 1] = kind() and 1 or 0
end
redis.call('SET', KEYS[1], '', 'PX', ARGV[1])
return present
