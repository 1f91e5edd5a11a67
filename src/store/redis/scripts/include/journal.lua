--- @include fields
--- @include time

-- How many entries a subject knows at most; a query about it reads no more at once.
local SUBJECT_ENTRIES = 1000

-- Appends an entry at `now` and returns its id, after which nothing in this source is earlier. Every entry
-- has the same fields in the same order, which streams keep compactly. Entries past the retention go, whole
-- blocks at a time. `witness` is a field of the control that is to keep the id, if any.
local function journal_append(journal, control, now, retention_ms, entry, witness)
  local at = ms(now)
  local id = redis.call('XADD', journal, 'MINID', '~', ms(math.max(0, now - tonumber(retention_ms))), at .. '-*',
    'type', entry.type, 'subject', entry.subject or '', 'verdict', entry.verdict or '', 'code', entry.code or '',
    'revision', entry.revision or '', 'of', entry.of or '', 'claims', entry.claims or '[]', 'detail', entry.detail)
  if witness then
    redis.call('HSET', control, 'now', at, witness, id)
  else
    redis.call('HSET', control, 'now', at)
  end
  return id
end

-- Lets the subject know an entry about it, `known` being its field `entries`, and writes other fields of it
-- along. The entries alone do not make the subject known: its `terms` do.
local function journal_about(subject, known, id, retention_ms, fields)
  local count = tonumber(known or '0') + 1
  fields = fields or {}
  local last = #fields
  fields[last + 1], fields[last + 2], fields[last + 3], fields[last + 4] = 'entries', ms(count), 'e:' .. count, id
  fields_set(subject, fields)
  if count > SUBJECT_ENTRIES then redis.call('HDEL', subject, 'e:' .. (count - SUBJECT_ENTRIES)) end
  redis.call('PEXPIRE', subject, retention_ms)
end
