-- Settles one question about one subject: see SettleResult in src/store/store.ts, whose numbers the steps carry.
--
-- KEYS 1 control, 2 subject, 3 journal, 4 lists, then one for each claim in order: its list, or its counter
-- ARGV 1 clock, 2 journal retention ms, 3 subject retention ms, 4 subject, 5 terms, 6 question, 7 speed-up (1 or 0),
--      8 revision, 9 valid from ms, 10 valid until ms, 11 approves (1 or 0), 12 refusal code, 13 final (1 or 0),
--      14 detail, then for each claim
--      list, decides (1 or 0), final (1 or 0), name, must, number of values, each value
--      or in one, with blanks between: window, decides, final, counter, amount, max, length ms, bucket ms (0: calendar),
--      end ms of a calendar period
-- Returns {stale, revision in force, now ms} | {elsewhen, now ms}
--      | {decided, id, verdict, code, claims} | {repeated, id, verdict, code, claims, of}
--- @include journal
--- @include window

local CLAIMS_FROM = 15

local control, subject, journal, lists = KEYS[1], KEYS[2], KEYS[3], KEYS[4]
local request = {
  subject = ARGV[4], terms = ARGV[5], question = ARGV[6], speed_up = ARGV[7] == '1', revision = ARGV[8],
  valid_from = tonumber(ARGV[9]), valid_until = tonumber(ARGV[10]), approves = ARGV[11] == '1',
  refusal_code = ARGV[12], final = ARGV[13] == '1', detail = ARGV[14],
}
local in_force = redis.call('HMGET', control, 'sequence', 'revision', 'frozen', 'now')
local clock = time_clock(ARGV[1])
local now = math.max(clock, tonumber(in_force[4] or '0'))

local function read_claims()
  local claims, at = {}, CLAIMS_FROM
  for number = 5, #KEYS do
    local claim = { type = 'list', decides = ARGV[at + 1] == '1', final = ARGV[at + 2] == '1', key = KEYS[number] }
    if ARGV[at] == 'list' then
      claim.name, claim.must, claim.values = ARGV[at + 3], ARGV[at + 4], {}
      local last = at + 5 + tonumber(ARGV[at + 5])
      for value = at + 6, last do table.insert(claim.values, ARGV[value]) end
      at = last + 1
    else
      local decides, final, counter, amount, max, length_ms, bucket_ms, end_ms =
        string.match(ARGV[at], '^window ([01]) ([01]) (%x+) (%d+) (%d+) (%d+) (%d+) (%d+)$')
      if not decides then error('unknown claim: ' .. ARGV[at]) end
      claim.type, claim.decides, claim.final = 'window', decides == '1', final == '1'
      claim.reservation, claim.amount, claim.max = 'r:' .. counter, amount, max
      claim.length_ms, claim.ends = tonumber(length_ms), tonumber(end_ms)
      local bucket = tonumber(bucket_ms)
      if bucket > 0 then claim.ends = now - now % bucket + bucket end
      at = at + 1
    end
    table.insert(claims, claim)
  end
  return claims
end

-- All that is needed of the subject, in one look: also what it has reserved of the claims.
local function read_subject(claims)
  local names, known = { 'terms', 'txids', 'entries', 'd:' .. request.question }, {}
  for _, claim in ipairs(claims) do
    if claim.reservation then table.insert(names, claim.reservation) end
  end
  for index, value in ipairs(fields_get(subject, names)) do known[names[index]] = value end
  return known
end

local claims = read_claims()
local known = read_subject(claims)

-- Appends to the journal, and writes the subject's fields along.
local function append(entry, fields)
  entry.subject, entry.revision, entry.detail = request.subject, request.revision, request.detail
  local id = journal_append(journal, control, now, ARGV[2], entry)
  journal_about(subject, known.entries, id, ARGV[3], fields and fields(id))
  return id
end

local function refuse(code)
  return { 'decided', append({ type = 'decision', verdict = 'FAILURE', code = code }), 'FAILURE', code, '[]' }
end

local function version_of(list)
  return string.match(redis.call('HGET', lists, list) or '', '^%d+') or '0'
end

local function check_list(claim)
  claim.version = version_of(claim.name)
  local present = {}
  for index, found in ipairs(fields_get(claim.key, claim.values)) do
    if found then table.insert(present, claim.values[index]) end
  end
  local missing = claim.version == '0'
  if claim.must == 'hold-all' then
    claim.holds = not missing and #present == #claim.values
  else
    claim.holds = not missing and claim.must == 'hold-none' and #present == 0
  end
  claim.result = { 'list', claim.holds and '1' or '0', missing and '1' or '0', unpack(present) }
end

local windows = {}
local function check_window(claim)
  local window = windows[claim.key] or window_read(claim.key, now, claim.length_ms)
  if window.length_ms ~= claim.length_ms then error('one counter with two lengths: ' .. claim.key) end
  windows[claim.key], claim.window = window, window
  claim.reserved = tonumber(known[claim.reservation] or '0') > now
  local used = window.asked
  if claim.reserved then
    claim.holds = true
  else
    window.asked = amount_add(used, claim.amount)
    claim.holds = amount_at_most(window.asked, claim.max)
  end
  claim.result = { 'window', claim.holds and '1' or '0', claim.reserved and '1' or '0', used }
end

-- Adds to the counters what was not reserved before; gives the fields by which the subject remembers it: until when it
-- counts, for after that it would be approved without a limit.
local function reserve(fields)
  for _, claim in ipairs(claims) do
    if claim.type == 'window' and not claim.reserved then
      window_add(claim.window, claim.amount, claim.ends, clock)
      table.insert(fields, claim.reservation)
      table.insert(fields, ms(claim.window.ends + claim.length_ms))
    end
  end
  return fields
end

-- 1, 2: what is in force
if not in_force[1] then return { 'stale', '', ms(now) } end
if in_force[3] ~= '' then return refuse('FROZEN') end
if in_force[2] ~= request.revision then return { 'stale', in_force[2] or '', ms(now) } end
if now < request.valid_from or now >= request.valid_until then return { 'elsewhen', ms(now) } end

-- 3: the subject
if known.terms and known.terms ~= request.terms then return refuse('TERMS_CHANGED') end
local question = 'd:' .. request.question
local stands = known[question]
if request.speed_up then
  question = question .. '+' .. #cjson.decode(known.txids or '[]')
  stands = redis.call('HGET', subject, question)
end

-- 4: the claims
local results, versions = {}, {}
-- Under no revision there is no policy that could approve.
local approves, final = request.approves and request.revision ~= '', not request.approves and request.final
for _, claim in ipairs(claims) do
  if claim.type == 'list' then
    check_list(claim)
    versions[claim.name] = claim.version
  else
    check_window(claim)
  end
  if claim.decides and not claim.holds then
    approves, final = false, final or claim.final
  end
  table.insert(results, claim.result)
end
local results_json = #results == 0 and '[]' or cjson.encode(results)

-- 5: the decision that stands. Kept as JSON: verdict, code, id, revision, final, then the names and versions of lists.
stands = stands and cjson.decode(stands)
local function still_refuses()
  if stands[5] == '1' then return true end
  if stands[4] ~= request.revision then return false end
  for at = 6, #stands, 2 do
    if version_of(stands[at]) ~= stands[at + 1] then return false end
  end
  return true
end
if stands and (stands[1] == 'SUCCESS' and approves or stands[1] ~= 'SUCCESS' and still_refuses()) then
  local verdict, code, of = stands[1], stands[2], stands[3]
  local id = append({ type = 'repeat', verdict = verdict, code = code, of = of, claims = results_json }, function()
    return verdict == 'SUCCESS' and reserve({}) or nil
  end)
  return { 'repeated', id, verdict, code, results_json, of }
end

-- 6: a decision afresh
local verdict, code = 'SUCCESS', 'APPROVED'
if not approves then
  verdict, code = 'FAILURE', request.approves and 'RULE_REFUSED' or request.refusal_code
end
local id = append({ type = 'decision', verdict = verdict, code = code, claims = results_json }, function(id)
  local decision = { verdict, code, id, request.revision, final and '1' or '0' }
  for list, version in pairs(versions) do
    table.insert(decision, list)
    table.insert(decision, version)
  end
  local fields = { 'terms', request.terms, question, cjson.encode(decision) }
  return approves and reserve(fields) or fields
end)
return { 'decided', id, verdict, code, results_json }
