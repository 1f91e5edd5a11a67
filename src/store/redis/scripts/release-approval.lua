-- Releases the approval of a subject: see ApprovalReleased in src/store/store.ts.
--
-- KEYS 1 control, 2 subject, 3 journal, then each counter in which the reservation is given back
-- ARGV 1 clock, 2 journal retention ms, 3 subject retention ms, 4 subject, 5 version, 6 of, 7 by, 8 message,
--      9 detail, then for each counter the field in which the subject keeps what it has reserved there
-- Returns {unknown} | {changed} | {short, index of a counter from 0, …}
--      | {released, id, by, message} | {before, id, by, message}
--- @include journal
--- @include window_release

local FIELDS_FROM = 10

local control, subject, journal = KEYS[1], KEYS[2], KEYS[3]
local now = time_now(control, ARGV[1])
local known = redis.call('HMGET', subject, 'terms', 'entries', 'released', 'released_by', 'released_message')
if not known[1] then return { 'unknown' } end
if known[3] then return { 'before', known[3], known[4], known[5] } end
if known[2] ~= ARGV[5] then return { 'changed' } end

local held, short = {}, { 'short' }
for number = 4, #KEYS do
  local kept = redis.call('HGET', subject, ARGV[FIELDS_FROM + number - 4]) or ''
  local until_ms, index, amount = string.match(kept, '^(%d+) (%d+) (%w+)$')
  if not until_ms or tonumber(until_ms) <= now then return { 'changed' } end
  local bucket = window_find(KEYS[number], index, amount_read(amount))
  if bucket then
    held[#held + 1] = bucket
  else
    short[#short + 1] = ms(number - 4)
  end
end
if #short > 1 then return short end

for _, bucket in ipairs(held) do window_give_back(bucket) end
local fields = redis.call('HGETALL', subject)
for at = 1, #fields, 2 do
  if string.sub(fields[at], 1, 2) == 'r:' then redis.call('HDEL', subject, fields[at]) end
end
local id = journal_append(journal, control, now, ARGV[2],
  { type = 'release', subject = ARGV[4], code = 'RELEASED', of = ARGV[6], detail = ARGV[9] })
journal_about(subject, known[2], id, ARGV[3],
  { 'released', id, 'released_by', ARGV[7], 'released_message', ARGV[8] })
return { 'released', id, ARGV[7], ARGV[8] }
