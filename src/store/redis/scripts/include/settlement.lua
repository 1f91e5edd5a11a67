--- @include data_loss
--- @include claims
--- @include frozen

-- Determines how a question about a subject is settled, in the numbered steps of SettleResult in
-- src/store/store.ts. Keys, arguments and what it returns are those of settle.lua. Whatever is written is
-- written by `effects`, which the including script defines before:
--
-- append(entry, entries, step, fields): appends a journal entry about the subject, which has this many entries.
--   Returns its id. `fields` returns the fields of the subject to write, given the id.
-- reserve(claims, step, fields, entry): writes what the approval with this entry reserves, and adds to the fields
--   of the subject.
-- refuse(claim, step): counts a refusal for a lock-out.
-- clock_is_right: true if the clock counts even if it seems to have jumped.

local CLAIMS_FROM = 23

local control, subject = KEYS[1], KEYS[2]
local caller_clock, _, subject_ms, name_of_subject, terms, question, speed_up, revision, valid_from,
  valid_until, approving, refusal_code, retryable, prices, detail, known_epoch, mark_field, high_water_mark,
  scheme, failed, choices_json, only_approved = unpack(ARGV, 1, CLAIMS_FROM - 1)
local proposed = approving == '1'
local in_force = redis.call('HMGET', control, 'sequence', 'revision', 'frozen', 'now', 'prices', 'epoch',
  mark_field, 'held')
local now, ahead, clock = time_of(in_force[4], in_force[8], caller_clock)
if ahead > 0 and effects.clock_is_right then now, ahead = math.max(now, clock), 0 end
-- For the claims: the question, its field of the subject and the decision there, the subject's txids, and the
-- versions of the lists that they read.
local step = {
  now = now, clock = clock, lists = KEYS[4], subject = name_of_subject, subject_ms = subject_ms,
  question = question, field = 'd:' .. question, decision = false, txids = false, versions = {},
}

-- The subject is read once: its own fields, and those that claims need.
local claims, names, at = {}, { 'terms', 'txids', 'entries', step.field, 'scheme', 'released' }, CLAIMS_FROM
local key_at = 5
while key_at <= #KEYS do
  local header = ARGV[at]
  local name, decides, claim_retryable, claim_failed, rest =
    string.match(header or '', '^(%S+) ([01]) ([01]) ([01]) ()')
  local kind = claim_kind(name)
  if not kind then error('unknown claim: ' .. tostring(header)) end
  -- With all fields of a window from the start, because a table that grows is reallocated.
  local claim = {
    kind = kind, key = KEYS[key_at], keys_from = key_at, decides = decides == '1',
    retryable = claim_retryable == '1', failed = claim_failed == '1', awaits = false, holds = false,
    remembered = false, known = false, amount = false, max = false, length_ms = false, ends = false,
    window = false,
  }
  local keys
  at, keys = kind.read(claim, header, rest, at + 1, step)
  key_at = key_at + (keys or 1)
  claims[#claims + 1] = claim
  if claim.remembered then names[#names + 1] = claim.remembered end
end
local known = fields_get(subject, names)
local known_terms, entries, known_scheme, released, field_index = known[1], known[3], known[5], known[6], 6
step.txids, step.decision = known[2], known[4]
for _, claim in ipairs(claims) do
  if claim.remembered then
    field_index = field_index + 1
    claim.known = known[field_index]
  end
end

local function append(entry, fields)
  entry.subject, entry.revision, entry.detail = name_of_subject, revision, detail
  return effects.append(entry, entries, step, fields)
end

-- The caller compares it, so that it never takes another question's reply for its own.
local request_key = subject .. ' ' .. terms .. ' ' .. question .. ' ' .. speed_up

local function refuse(code, of)
  local id = append({ type = 'decision', verdict = 'FAILURE', code = code, of = of })
  return { 'decided', request_key, id, 'FAILURE', code, '[]' }
end

-- 1, 2: what is in force
if in_force[1] and frozen_all(in_force[3]) then return refuse('FROZEN') end
local lost = loss_in(in_force[6], known_epoch, in_force[7], high_water_mark)
if lost then return { 'lost', lost } end
if ahead > 0 then return { 'jumped', ms(ahead), ms(now) } end
if not in_force[1] then return { 'stale', '', ms(now) } end
if in_force[2] ~= revision or prices ~= '0' and prices ~= in_force[5] or in_force[3] ~= only_approved then
  return { 'stale', in_force[2] or '', ms(now) }
end
if now < tonumber(valid_from) or now >= tonumber(valid_until) then return { 'expired', ms(now) } end

-- 3: the subject
if known_terms and known_terms ~= terms then return refuse('TERMS_CHANGED') end
if known_scheme and scheme ~= '' and known_scheme ~= scheme then return refuse('SCHEME_CHANGED') end
if released then return refuse('RELEASED', released) end
local earlier = step.decision
if speed_up == '1' then
  step.field = step.field .. '+' .. #cjson.decode(step.txids or '[]')
  earlier = redis.call('HGET', subject, step.field)
end

-- How two refusals stand together: see combine in src/policy/standing.ts.
local function all_of(one, other)
  return {
    retryable = one.retryable and other.retryable, failed = one.failed and other.failed,
    awaits = one.awaits and other.awaits,
  }
end
local function one_of(one, other)
  return { retryable = one.retryable or other.retryable, failed = one.failed or other.failed }
end

-- 4: the claims. If no revision is in force, no policy can approve.
local approves = proposed and revision ~= ''
-- How the refusal stands; false as long as nothing refuses.
local standing = not proposed
  and { retryable = retryable == '1', failed = failed == '1', awaits = false }
local function refused_by(cause)
  approves = false
  standing = standing and all_of(standing, cause) or cause
end

local results = {}
local function check(index)
  local claim = claims[index]
  local result = claim.kind.check(claim, step)
  if claim.holds then result[2] = '1' end
  if claim.kind.refuse then claim.result = result end
  results[index] = result_joined(claim.kind, result)
  return claim.holds
end

-- A choice is a table: whether it decides, whether its refusal is retryable, whether it is by a failure, and its
-- alternatives. An alternative is a list of claims, by their indexes from 0, and of further choices. The first
-- alternative that holds is taken, and only its claims reserve. Returns a function that checks the choices, to be
-- called when the other claims have been checked.
local function prepare_choices(choices)
  local function each_claim(choice, visit)
    for _, alternative in ipairs(choice[4]) do
      for _, item in ipairs(alternative) do
        if type(item) == 'table' then each_claim(item, visit) elseif claims[item + 1] then visit(item + 1) end
      end
    end
  end
  for _, choice in ipairs(choices) do
    each_claim(choice, function(index)
      claims[index].optional, claims[index].left_out = true, true
      results[index] = 'n 0'
    end)
  end

  -- Both also return whether it lacks only people's approval if it does not hold. What else an alternative requires
  -- is checked before people are asked.
  local taken, holds_one = {}, nil
  local function holds_all(alternative)
    local from, lacks, lacks_more = #taken + 1, false, false
    for _, item in ipairs(alternative) do
      local holds, awaits
      if type(item) == 'table' then
        holds, awaits = holds_one(item)
      elseif claims[item + 1] then
        holds, awaits = check(item + 1), claims[item + 1].awaits
        taken[#taken + 1] = claims[item + 1]
      end
      lacks, lacks_more = lacks or not holds, not holds and not awaits
      if lacks_more then break end
    end
    if not lacks then return true end
    for at = #taken, from, -1 do
      if taken[at].kind.undo then taken[at].kind.undo(taken[at]) end
      taken[at] = nil
    end
    return false, not lacks_more
  end
  function holds_one(choice)
    local awaits = false
    for _, alternative in ipairs(choice[4]) do
      local holds, awaits_alone = holds_all(alternative)
      if holds then return true end
      awaits = awaits or awaits_alone
    end
    return false, awaits
  end

  return function()
    for _, choice in ipairs(choices) do
      local holds, awaits = holds_one(choice)
      if not holds and choice[1] == '1' then
        local cause = { retryable = choice[2] == '1', failed = choice[3] == '1' }
        each_claim(choice, function(index)
          local claim = claims[index]
          if results[index] ~= 'n 0' and not claim.holds and (awaits or not claim.awaits) then
            cause = one_of(cause, claim)
          end
        end)
        cause.awaits = awaits
        refused_by(cause)
      end
    end
    for _, claim in ipairs(taken) do claim.left_out = false end
  end
end

local check_choices = choices_json ~= '' and prepare_choices(cjson.decode(choices_json))
for index, claim in ipairs(claims) do
  if not claim.optional and not check(index) and claim.decides then refused_by(claim) end
end
if check_choices then check_choices() end
local results_json = #results == 0 and '[]' or cjson.encode(results)

-- 5: the earlier decision. It is JSON: verdict, code, id, and for a refusal also the revision, whether
-- it is retryable, and the names and versions of lists. Without these, an approval is short enough for Redis to
-- store the subject compactly.
earlier = earlier and cjson.decode(earlier)
local function still_refuses()
  if earlier[5] == '1' or earlier[4] ~= revision then return false end
  for at = 6, #earlier, 2 do
    if list_version(step.lists, earlier[at]) ~= earlier[at + 1] then return false end
  end
  return true
end
if earlier and (earlier[1] == 'SUCCESS' and approves or earlier[1] ~= 'SUCCESS' and still_refuses()) then
  local verdict, code, of = earlier[1], earlier[2], earlier[3]
  local entry = { type = 'repeat', verdict = verdict, code = code, of = of, claims = results_json }
  local id = append(entry, function(id)
    return verdict == 'SUCCESS' and effects.reserve(claims, step, {}, id) or nil
  end)
  return { 'repeated', request_key, id, verdict, code, results_json, of }
end

-- 6: a new decision
local verdict, code = 'SUCCESS', 'APPROVED'
if not approves then
  -- The proposal's own code, unless the proposal may approve later and a claim refuses for longer.
  local by_claim = proposed or retryable == '1' and not standing.retryable
  verdict, code = 'FAILURE', by_claim and 'RULE_REFUSED' or refusal_code
  if standing and standing.awaits then code = 'AWAITING_APPROVAL' end
end
if code == 'RULE_REFUSED' and standing and not standing.failed then
  for index, claim in ipairs(claims) do
    if claim.kind.refuse and claim.result then
      claim.kind.refuse(claim, step)
      effects.refuse(claim, step)
      results[index] = result_joined(claim.kind, claim.result)
    end
  end
  if #results > 0 then results_json = cjson.encode(results) end
end
local id = append({ type = 'decision', verdict = verdict, code = code, claims = results_json }, function(id)
  local fields = { 'terms', terms, step.field, false }
  if scheme ~= '' and not known_scheme then fields[5], fields[6] = 'scheme', scheme end
  if approves then
    fields[4] = cjson.encode({ verdict, code, id })
    return effects.reserve(claims, step, fields, id)
  end
  local decision = { verdict, code, id, revision, standing and standing.retryable and '1' or '0' }
  for list, version in pairs(step.versions) do
    table.insert(decision, list)
    table.insert(decision, version)
  end
  fields[4] = cjson.encode(decision)
  return fields
end)
return { 'decided', request_key, id, verdict, code, results_json }
