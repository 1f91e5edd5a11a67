-- Writes a journal entry that decides nothing.
--
-- KEYS 1 control, 2 subject (unused if ARGV 4 is empty), 3 journal
-- ARGV 1 clock, 2 journal retention ms, 3 subject retention ms, 4 subject or empty, 5 type, 6 verdict, 7
--      code, 8 of, 9 detail
-- Returns its id
--- @include journal

local now = time_now(KEYS[1], ARGV[1])
local id = journal_append(KEYS[3], KEYS[1], now, ARGV[2],
  { subject = ARGV[4], type = ARGV[5], verdict = ARGV[6], code = ARGV[7], of = ARGV[8], detail = ARGV[9] })
if ARGV[4] ~= '' then journal_about(KEYS[2], redis.call('HGET', KEYS[2], 'entries'), id, ARGV[3]) end
return id
