-- Settles one question about one subject: see SettleResult in src/store/store.ts, whose numbers the steps carry.
--
-- KEYS 1 control, 2 subject, 3 journal, 4 lists, then one for each claim in order: its list, its counter, its mark, its
--      order, or, for a speed-up, the subject again
-- ARGV 1 clock, 2 journal retention ms, 3 subject retention ms, 4 subject, 5 terms, 6 question, 7 speed-up (1 or 0),
--      8 revision, 9 valid from ms, 10 valid until ms, 11 approves (1 or 0), 12 refusal code, 13 how the proposal's refusal
--      stands, 14 version of the prices (0: it does not depend on them), 15 detail, 16 epoch that the caller knows, 17 its
--      witness, 18 its newest approval or empty (see lost-memory.ts), then for each claim
--      a head in one, with blanks between: kind, decides (1 or 0), how its refusal stands, and what include/claim_*.lua
--      says of the kind; then the claim's texts, an argument each
--      A refusal stands: 1 for good, 0 until the revision or a list changes, 2 until it is asked again
-- Returns {lost, gone | other | behind} | {stale, revision in force, now ms} | {elsewhen, now ms}
--      | {decided, about, id, verdict, code, claims} | {repeated, about, id, verdict, code, claims, of}
--      where about is KEYS 2, ARGV 5, 6 and 7 with blanks between: what was asked, by which an answer is known to be its own
--- @include journal
--- @include lost
--- @include claim_list
--- @include claim_window

-- Each kind reads a claim's head from `rest` on, and its texts from the argument `at` on, and returns where they end; it
-- checks the claim, which then knows whether it `holds`, and returns its result, in which that is still open; and it reserves
-- what it has to reserve, adding to the fields by which the subject remembers it.
local KINDS = { list = list_kind, aged = aged_kind, window = window_kind }

-- Few claims are of these kinds, and to make their functions takes time.
local rare_kinds
local function rare_kind(name)
  if rare_kinds then return rare_kinds[name] end
--- @include claim_mark
--- @include claim_order
--- @include claim_speed_up
  rare_kinds = { mark = mark_kind, order = order_kind, ['speed-up'] = speed_up_kind }
  return rare_kinds[name]
end

local CLAIMS_FROM = 19

local control, subject, journal = KEYS[1], KEYS[2], KEYS[3]
local request = {
  subject = ARGV[4], terms = ARGV[5], question = ARGV[6], speed_up = ARGV[7] == '1', revision = ARGV[8],
  valid_from = tonumber(ARGV[9]), valid_until = tonumber(ARGV[10]), approves = ARGV[11] == '1',
  refusal_code = ARGV[12], refusal = ARGV[13], prices = ARGV[14], detail = ARGV[15],
}
local in_force = redis.call('HMGET', control, 'sequence', 'revision', 'frozen', 'now', 'prices', 'epoch', ARGV[17])
local clock = time_clock(ARGV[1])
local now = math.max(clock, tonumber(in_force[4] or '0'))
-- What the kinds of claims know: the subject's fields, and the versions of the lists that they looked into.
local step = {
  now = now, clock = clock, lists = KEYS[4], subject_ms = ARGV[3], asked = request.question,
  question = 'd:' .. request.question, known = {}, versions = {},
}
local known = step.known

local function read_claims()
  local claims, at = {}, CLAIMS_FROM
  for number = 5, #KEYS do
    local head = ARGV[at]
    local name, decides, refusal, rest = string.match(head, '^(%S+) ([01]) ([012]) ()')
    local kind = KINDS[name] or rare_kind(name)
    if not kind then error('unknown claim: ' .. head) end
    local claim = { kind = kind, key = KEYS[number], decides = decides == '1', refusal = refusal }
    at = kind.read(claim, head, rest, at + 1, step)
    table.insert(claims, claim)
  end
  return claims
end

-- All that is needed of the subject, in one look: also what it remembers of the claims.
local function read_subject(claims)
  local names = { 'terms', 'txids', 'entries', step.question }
  for _, claim in ipairs(claims) do
    if claim.remembered then table.insert(names, claim.remembered) end
  end
  for index, value in ipairs(fields_get(subject, names)) do known[names[index]] = value end
end

local claims = read_claims()
read_subject(claims)

-- Appends to the journal, and writes the subject's fields along.
local function append(entry, fields)
  entry.subject, entry.revision, entry.detail = request.subject, request.revision, request.detail
  local id = journal_append(journal, control, now, ARGV[2], entry, entry.verdict == 'SUCCESS' and ARGV[17])
  journal_about(subject, known.entries, id, ARGV[3], fields and fields(id))
  return id
end

-- Whoever asked compares it: an answer to somebody else's question must never be taken for one's own.
local about = subject .. ' ' .. ARGV[5] .. ' ' .. ARGV[6] .. ' ' .. ARGV[7]

local function refuse(code)
  return { 'decided', about, append({ type = 'decision', verdict = 'FAILURE', code = code }), 'FAILURE', code, '[]' }
end

local function reserve(fields)
  for _, claim in ipairs(claims) do
    if claim.kind.reserve then claim.kind.reserve(claim, step, fields) end
  end
  return fields
end

-- 1, 2: what is in force
if in_force[1] and in_force[3] ~= '' then return refuse('FROZEN') end
local lost = lost_what(in_force[6], ARGV[16], in_force[7], ARGV[18])
if lost then return { 'lost', lost } end
if not in_force[1] then return { 'stale', '', ms(now) } end
if in_force[2] ~= request.revision or request.prices ~= '0' and request.prices ~= in_force[5] then
  return { 'stale', in_force[2] or '', ms(now) }
end
if now < request.valid_from or now >= request.valid_until then return { 'elsewhen', ms(now) } end

-- 3: the subject
if known.terms and known.terms ~= request.terms then return refuse('TERMS_CHANGED') end
local stands = known[step.question]
if request.speed_up then
  step.question = step.question .. '+' .. #cjson.decode(known.txids or '[]')
  stands = redis.call('HGET', subject, step.question)
end

-- 4: the claims
-- Under no revision there is no policy that could approve.
local approves, refusal = request.approves and request.revision ~= '', '0'
-- What refuses says how the refusal stands: one that is for good is decisive; to be asked again, all must be.
local refusing = 0
local function refused(how)
  refusing = refusing + 1
  if how == '1' or refusing == 1 then
    refusal = how
  elseif refusal ~= '1' and how ~= refusal then
    refusal = '0'
  end
end
if not request.approves then refused(request.refusal) end
local results = {}
for _, claim in ipairs(claims) do
  local result = claim.kind.check(claim, step)
  if claim.holds then
    result[2] = '1'
  elseif claim.decides then
    approves = false
    refused(claim.refusal)
  end
  table.insert(results, result)
end
local results_json = #results == 0 and '[]' or cjson.encode(results)

-- 5: the decision that stands. Kept as JSON: verdict, code, id, revision, how a refusal stands, then the names and
-- versions of lists.
stands = stands and cjson.decode(stands)
local function still_refuses()
  if stands[5] == '1' then return true end
  if stands[5] == '2' or stands[4] ~= request.revision then return false end
  for at = 6, #stands, 2 do
    if list_version(step.lists, stands[at]) ~= stands[at + 1] then return false end
  end
  return true
end
if stands and (stands[1] == 'SUCCESS' and approves or stands[1] ~= 'SUCCESS' and still_refuses()) then
  local verdict, code, of = stands[1], stands[2], stands[3]
  local id = append({ type = 'repeat', verdict = verdict, code = code, of = of, claims = results_json }, function()
    return verdict == 'SUCCESS' and reserve({}) or nil
  end)
  return { 'repeated', about, id, verdict, code, results_json, of }
end

-- 6: a decision afresh
local verdict, code = 'SUCCESS', 'APPROVED'
if not approves then
  verdict, code = 'FAILURE', request.approves and 'RULE_REFUSED' or request.refusal_code
end
local id = append({ type = 'decision', verdict = verdict, code = code, claims = results_json }, function(id)
  local decision = { verdict, code, id, request.revision, refusal }
  for list, version in pairs(step.versions) do
    table.insert(decision, list)
    table.insert(decision, version)
  end
  local fields = { 'terms', request.terms, step.question, cjson.encode(decision) }
  return approves and reserve(fields) or fields
end)
return { 'decided', about, id, verdict, code, results_json }
