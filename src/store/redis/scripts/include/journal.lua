--- @include fields
--- @include time

-- A subject keeps the ids of this many entries. A query about it reads no more.
local SUBJECT_ENTRIES = 1000

-- What most entries have is stored as the empty text.
local USUAL = { decision = '', APPROVED = '' }

-- Appends an entry at `now` and returns its id. The time of the source is then at least `now`. All entries
-- have the same fields in the same order, because streams store these compactly. Removes whole blocks of
-- entries past the retention. `mark` is the field of the control that gets the id as a high-water mark, if
-- any.
local function journal_append(journal, control, now, retention_ms, entry, mark)
  local at = ms(now)
  local oldest = ms(math.max(0, now - tonumber(retention_ms)))
  local id = redis.call('XADD', journal, 'MINID', '~', oldest, at .. '-*', 'type', USUAL[entry.type] or entry.type,
    'subject', entry.subject or '', 'verdict', entry.verdict or '', 'code',
    USUAL[entry.code] or entry.code or '',
    'revision', entry.revision or '', 'of', entry.of or '', 'claims', entry.claims or '[]',
    'detail', entry.detail)
  if mark then
    redis.call('HSET', control, 'now', at, mark, id)
  else
    redis.call('HSET', control, 'now', at)
  end
  return id
end

-- Adds an entry to those of the subject, and writes other fields with it. `known` is the subject's field
-- `entries`. A subject with entries but without `terms` counts as unknown.
local function journal_about(subject, known, id, retention_ms, fields)
  local count = tonumber(known or '0') + 1
  fields = fields or {}
  local last = #fields
  fields[last + 1], fields[last + 2] = 'entries', ms(count)
  fields[last + 3], fields[last + 4] = 'e:' .. count, id
  fields_set(subject, fields)
  if count > SUBJECT_ENTRIES then redis.call('HDEL', subject, 'e:' .. (count - SUBJECT_ENTRIES)) end
  redis.call('PEXPIRE', subject, retention_ms)
end
