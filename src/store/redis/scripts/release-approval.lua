-- Releases the approval of a subject: see ApprovalReleased in src/store/store.ts.
--
-- KEYS 1 control, 2 subject, 3 journal, then the counter of each amount
-- ARGV 1 clock, 2 journal retention ms, 3 subject retention ms, 4 subject, 5 version, 6 of, 7 by, 8 message,
--      9 detail, then for each amount: the field in which the subject keeps until when it counts, until when in
--      ms, the end of its bucket in ms, the amount
-- Returns {unknown} | {changed} | {short, index of an amount from 0, …}
--      | {released, id, by, message} | {before, id, by, message}
--- @include journal
--- @include window_release

local AMOUNTS_FROM = 10

local control, subject, journal = KEYS[1], KEYS[2], KEYS[3]
local now = time_now(control, ARGV[1])
local known = redis.call('HMGET', subject, 'terms', 'entries', 'released', 'released_by', 'released_message')
if not known[1] then return { 'unknown' } end
if known[3] then return { 'before', known[3], known[4], known[5] } end
if known[2] ~= ARGV[5] then return { 'changed' } end

local held, short = {}, { 'short' }
for number = 4, #KEYS do
  local at = AMOUNTS_FROM + 4 * (number - 4)
  local field, until_ms, ends = ARGV[at], ARGV[at + 1], tonumber(ARGV[at + 2])
  local amount = amount_read(ARGV[at + 3])
  if tonumber(until_ms) <= now or redis.call('HGET', subject, field) ~= until_ms then return { 'changed' } end
  local bucket = window_find(KEYS[number], ends)
  if bucket and amount_at_most(amount, bucket.sum) then
    held[#held + 1] = { bucket = bucket, amount = amount }
  else
    short[#short + 1] = ms(number - 4)
  end
end
if #short > 1 then return short end

for _, each in ipairs(held) do window_give_back(each.bucket, each.amount) end
local fields = redis.call('HGETALL', subject)
for at = 1, #fields, 2 do
  if string.sub(fields[at], 1, 2) == 'r:' then redis.call('HDEL', subject, fields[at]) end
end
local id = journal_append(journal, control, now, ARGV[2],
  { type = 'release', subject = ARGV[4], code = 'RELEASED', of = ARGV[6], detail = ARGV[9] })
journal_about(subject, known[2], id, ARGV[3],
  { 'released', id, 'released_by', ARGV[7], 'released_message', ARGV[8] })
return { 'released', id, ARGV[7], ARGV[8] }
