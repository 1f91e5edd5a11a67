-- Records a notification (`sign_success`): see NotificationResult in src/store/store.ts.
--
-- KEYS 1 control, 2 subject, 3 journal
-- ARGV 1 clock, 2 journal retention ms, 3 subject retention ms, 4 subject, 5 terms, 6 txid or empty, 7
--      detail, 8 most txids of a subject
-- Returns {request key, id, verdict, code}, where the request key is KEYS 2, ARGV 5 and 6 with blanks
--      between: see settle.lua
--- @include journal
--- @include frozen

local control, subject, journal = KEYS[1], KEYS[2], KEYS[3]
local terms, txid = ARGV[5], ARGV[6]
local txids_max = tonumber(ARGV[8])
local now = time_now(control, ARGV[1])

local known = redis.call('HMGET', subject, 'terms', 'txids', 'entries', 'released')
local same_terms = known[1] == terms
local txids = cjson.decode(known[2] or '[]')

local function approved(question)
  local decision = redis.call('HGET', subject, question)
  return decision and cjson.decode(decision)[1] == 'SUCCESS'
end

-- The name of a speed-up's question ends with the number of txids at that time, so these are all speed-ups.
local start, speed_ups = approved('d:sign_start'), 0
for count = 0, #txids do
  if approved('d:sign_start+' .. count) then speed_ups = speed_ups + 1 end
end

local new = txid ~= ''
for _, seen in ipairs(txids) do new = new and seen ~= txid end

local code = 'NOTED'
if not same_terms or not (start or speed_ups > 0) then
  code = 'SIGNED_WITHOUT_APPROVAL'
elseif known[4] then
  code = 'SIGNED_AFTER_RELEASE'
elseif new and #txids >= math.min(1 + speed_ups, txids_max) then
  code = 'TXID_UNEXPECTED'
elseif frozen_all(redis.call('HGET', control, 'frozen')) then
  code = 'FROZEN'
end
local verdict = code == 'NOTED' and 'SUCCESS' or 'FAILURE'

local id = journal_append(journal, control, now, ARGV[2],
  { type = 'notice', subject = ARGV[4], verdict = verdict, code = code, detail = ARGV[7] })
local fields = {}
if same_terms and new and #txids < txids_max then
  table.insert(txids, txid)
  fields = { 'txids', cjson.encode(txids) }
end
journal_about(subject, known[3], id, ARGV[3], fields)
return { subject .. ' ' .. terms .. ' ' .. txid, id, verdict, code }
