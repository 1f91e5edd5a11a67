-- Settles one question about one subject: see SettleResult in src/store/store.ts, whose numbers the steps carry.
--
-- KEYS 1 control, 2 subject, 3 journal, 4 lists, then one for each claim in order: its list, or its counter
-- ARGV 1 clock, 2 journal retention ms, 3 subject retention ms, 4 subject, 5 terms, 6 question, 7 speed-up (1 or 0),
--      8 revision, 9 valid from ms, 10 valid until ms, 11 approves (1 or 0), 12 refusal code, 13 final (1 or 0),
--      14 detail, then for each claim
--      list, decides (1 or 0), final (1 or 0), name, must, number of values, each value
--      window, decides, final, counter, amount, max, length ms, bucket ms (0: calendar), end ms of a calendar period
-- Returns {stale, revision in force, now ms} | {elsewhen, now ms}
--      | {decided, id, verdict, code, claims} | {repeated, id, verdict, code, claims, of}
--- @include time
--- @include journal
--- @include window

local CLAIMS_FROM = 15
local VALUES_AT_ONCE = 1000

local control, subject, journal, lists = KEYS[1], KEYS[2], KEYS[3], KEYS[4]
local journal_retention, subject_retention = ARGV[2], ARGV[3]
local request = {
  subject = ARGV[4], terms = ARGV[5], question = ARGV[6], speed_up = ARGV[7] == '1', revision = ARGV[8],
  valid_from = tonumber(ARGV[9]), valid_until = tonumber(ARGV[10]), approves = ARGV[11] == '1',
  refusal_code = ARGV[12], final = ARGV[13] == '1', detail = ARGV[14],
}
local now, clock = time_now(control, ARGV[1])

local function append(entry)
  entry.subject, entry.revision, entry.detail = request.subject, request.revision, request.detail
  local id = journal_append(journal, control, now, journal_retention, entry)
  journal_about(subject, id, subject_retention)
  return id
end

local function refuse(code)
  return { 'decided', append({ type = 'decision', verdict = 'FAILURE', code = code }), 'FAILURE', code, '[]' }
end

local function read_claims()
  local claims, at = {}, CLAIMS_FROM
  for number = 5, #KEYS do
    local claim = { type = ARGV[at], decides = ARGV[at + 1] == '1', final = ARGV[at + 2] == '1', key = KEYS[number] }
    if claim.type == 'list' then
      claim.name, claim.must = ARGV[at + 3], ARGV[at + 4]
      claim.from = at + 6
      at = claim.from + tonumber(ARGV[at + 5])
      claim.to = at - 1
    else
      claim.counter, claim.amount, claim.max = ARGV[at + 3], ARGV[at + 4], ARGV[at + 5]
      claim.length_ms, claim.bucket_ms = tonumber(ARGV[at + 6]), tonumber(ARGV[at + 7])
      claim.ends = tonumber(ARGV[at + 8])
      if claim.bucket_ms > 0 then claim.ends = now - now % claim.bucket_ms + claim.bucket_ms end
      at = at + 9
    end
    table.insert(claims, claim)
  end
  return claims
end

local function version_of(list)
  return string.match(redis.call('HGET', lists, list) or '', '^%d+') or '0'
end

local function check_list(claim)
  claim.version = version_of(claim.name)
  local present, absent = {}, 0
  for from = claim.from, claim.to, VALUES_AT_ONCE do
    local to = math.min(from + VALUES_AT_ONCE - 1, claim.to)
    local found = redis.call('HMGET', claim.key, unpack(ARGV, from, to))
    for offset = 1, to - from + 1 do
      if found[offset] then
        table.insert(present, ARGV[from + offset - 1])
      else
        absent = absent + 1
      end
    end
  end
  local missing = claim.version == '0'
  claim.holds = not missing
  if claim.must == 'hold-all' then
    claim.holds = claim.holds and absent == 0
  else
    claim.holds = claim.holds and claim.must == 'hold-none' and #present == 0
  end
  claim.result = { 'list', claim.holds and '1' or '0', missing and '1' or '0' }
  for _, value in ipairs(present) do table.insert(claim.result, value) end
end

local windows = {}
local function check_window(claim)
  local window = windows[claim.key] or window_read(claim.key, now, claim.length_ms)
  if window.length_ms ~= claim.length_ms then error('one counter with two lengths: ' .. claim.key) end
  windows[claim.key], claim.window = window, window
  window.asked = window.asked or window.total
  claim.reserved = redis.call('HEXISTS', subject, 'r:' .. claim.counter) == 1
  local used = window.asked
  if claim.reserved then
    claim.holds = true
  else
    window.asked = amount_add(used, claim.amount)
    claim.holds = amount_at_most(window.asked, claim.max)
  end
  claim.result = { 'window', claim.holds and '1' or '0', claim.reserved and '1' or '0', used }
end

local function reserve(claims)
  for _, claim in ipairs(claims) do
    if claim.type == 'window' and not claim.reserved then
      window_add(claim.window, claim.amount, claim.ends, clock)
      redis.call('HSET', subject, 'r:' .. claim.counter, '1')
    end
  end
end

-- 1, 2: what is in force
local in_force = redis.call('HMGET', control, 'sequence', 'revision', 'frozen')
if not in_force[1] then return { 'stale', '', ms(now) } end
if in_force[3] ~= '' then return refuse('FROZEN') end
if in_force[2] ~= request.revision then return { 'stale', in_force[2] or '', ms(now) } end
if now < request.valid_from or now >= request.valid_until then return { 'elsewhen', ms(now) } end

-- 3: the subject
local known = redis.call('HMGET', subject, 'terms', 'txids')
if known[1] and known[1] ~= request.terms then return refuse('TERMS_CHANGED') end
local question = 'd:' .. request.question
if request.speed_up then question = question .. '+' .. #cjson.decode(known[2] or '[]') end

-- 4: the claims
local claims, results, versions = read_claims(), {}, {}
-- Under no revision there is no policy that could approve.
local approves, final = request.approves and request.revision ~= '', not request.approves and request.final
for _, claim in ipairs(claims) do
  if claim.type == 'list' then
    check_list(claim)
    versions[claim.name] = claim.version
  elseif claim.type == 'window' then
    check_window(claim)
  else
    error('unknown claim: ' .. tostring(claim.type))
  end
  if claim.decides and not claim.holds then
    approves, final = false, final or claim.final
  end
  table.insert(results, claim.result)
end
local results_json = #results == 0 and '[]' or cjson.encode(results)

-- 5: the decision that stands. Kept as JSON: verdict, code, id, revision, final, then the names and versions of lists.
local stands = redis.call('HGET', subject, question)
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
  local id = append({ type = 'repeat', verdict = verdict, code = code, of = of, claims = results_json })
  if verdict == 'SUCCESS' then reserve(claims) end
  return { 'repeated', id, verdict, code, results_json, of }
end

-- 6: a decision afresh
local verdict, code = 'SUCCESS', 'APPROVED'
if not approves then
  verdict, code = 'FAILURE', request.approves and 'RULE_REFUSED' or request.refusal_code
end
local id = append({ type = 'decision', verdict = verdict, code = code, claims = results_json })
if approves then reserve(claims) end
local decision = { verdict, code, id, request.revision, final and '1' or '0' }
for list, version in pairs(versions) do
  table.insert(decision, list)
  table.insert(decision, version)
end
redis.call('HSET', subject, 'terms', request.terms, question, cjson.encode(decision))
return { 'decided', id, verdict, code, results_json }
