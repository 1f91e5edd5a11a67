--- @include fields
--- @include time
--- @include order
--- @include window

-- The kinds of claims. An argument of settle.lua is a claim's header: its kind, whether it decides, how its
-- refusal stands, whether it is made only because something failed (1 or 0), and then the parameters of its
-- kind, separated by blanks. The claim's texts follow, an argument each. Each kind has:
--
-- read(claim, header, rest, at, step): reads the parameters from position `rest` of the header, and the texts
--   from argument `at` on. Returns the position of the next argument. Sets `claim.remembered` to a field of
--   the subject that it needs.
-- check(claim, step): sets `claim.holds` and returns the result, whose second text is '0' until settle.lua
--   sets it: see src/claims/stored.ts.
-- undo(claim): takes back what `check` counted, because the alternative of the claim is not taken.
-- refuse(claim, step): on a refusal that counts for lock-outs, changes `claim.result`. A claim with
--   `claim.uncounted` fails without such a refusal.
-- count_refusal(claim, step): after `refuse`, writes the refusal.
-- reserve(claim, step, fields): on approval, writes what the claim uses, and adds to the fields of the
--   subject.

-- Returns a result as it is stored: its texts with blanks between, or a table if a text has a blank itself.
local function result_joined(result)
  for _, text in ipairs(result) do
    if type(text) ~= 'string' or string.find(text, ' ', 1, true) then return result end
  end
  return table.concat(result, ' ')
end

-- list: the list has all of the values, or none. Header: hold-all or hold-none, number of values, number of
-- their other texts. Texts: name of the list, the values, then each other text after the number of its value.

local function list_texts(claim, count, others, at)
  claim.name, claim.values, claim.texts, claim.value_of = ARGV[at], {}, {}, {}
  for index = 1, count do
    claim.values[index], claim.texts[index], claim.value_of[index] = ARGV[at + index], ARGV[at + index], index
  end
  local last = at + count
  for index = 1, others do
    claim.texts[count + index] = ARGV[last + 2 * index]
    claim.value_of[count + index] = tonumber(ARGV[last + 2 * index - 1])
  end
  return last + 2 * others + 1
end

local function list_version(lists, name)
  return string.match(redis.call('HGET', lists, name) or '', '^%d+') or '0'
end

-- Returns when the first text of each value was added, or nil; then whether the list is missing. Remembers the
-- version of the list, because a refusal depends on it.
local function list_look_up(claim, step)
  local version = list_version(step.lists, claim.name)
  step.versions[claim.name] = version
  local added = {}
  for index, at in ipairs(fields_get(claim.key, claim.texts)) do
    local value = claim.value_of[index]
    if at and (not added[value] or tonumber(at) < tonumber(added[value])) then added[value] = at end
  end
  return added, version == '0'
end

local list_kind = {}

function list_kind.read(claim, header, rest, at)
  local must, count, others = string.match(header, '^(hold%-%l+) (%d+) (%d+)$', rest)
  if not must then error('unknown claim: ' .. header) end
  claim.must = must
  return list_texts(claim, tonumber(count), tonumber(others), at)
end

function list_kind.check(claim, step)
  local added, missing = list_look_up(claim, step)
  local result, present = { 'l', '0', missing and '1' or '0' }, 0
  for index, value in ipairs(claim.values) do
    if added[index] then
      present = present + 1
      result[3 + present] = value
    end
  end
  claim.uncounted = claim.uncounted or missing
  -- No rule makes a claim without values. It holds neither way.
  local can_hold = not missing and #claim.values > 0
  if claim.must == 'hold-all' then
    claim.holds = can_hold and present == #claim.values
  else
    claim.holds = can_hold and claim.must == 'hold-none' and present == 0
  end
  return result
end

-- aged: the list has had all of the values for some time. Header: least age in ms, then as of a list. Texts: as
-- of a list.

local aged_kind = {}

function aged_kind.read(claim, header, rest, at)
  local age_ms, count, others = string.match(header, '^(%d+) (%d+) (%d+)$', rest)
  if not age_ms then error('unknown claim: ' .. header) end
  claim.age_ms = tonumber(age_ms)
  return list_texts(claim, tonumber(count), tonumber(others), at)
end

function aged_kind.check(claim, step)
  local added, missing = list_look_up(claim, step)
  local result, old = { 'a', '0', missing and '1' or '0' }, 0
  for index, value in ipairs(claim.values) do
    local at = added[index]
    if at then
      if not string.match(at, '^%d+$') then error('list entry without its time: ' .. claim.key) end
      if tonumber(at) <= step.now - claim.age_ms then old = old + 1 end
      table.insert(result, { value, at })
    end
  end
  claim.uncounted = claim.uncounted or missing
  claim.holds = not missing and #claim.values > 0 and old == #claim.values
  return result
end

-- window: a counter has room for an amount. Header: the field in which the subject keeps until when its
-- reservation counts, amount, maximum, length ms, bucket ms (0 for a calendar period), end of a calendar
-- period in ms.

local window_kind, windows = {}, {}

function window_kind.read(claim, header, rest, at, step)
  local remembered, amount, max, length_ms, bucket_ms, end_ms =
    string.match(header, '^(r:[%w@-]+) (%w+) (%w+) (%d+) (%d+) (%d+)$', rest)
  if not remembered then error('unknown claim: ' .. header) end
  claim.remembered, claim.amount, claim.max = remembered, amount_read(amount), amount_read(max)
  claim.length_ms, claim.ends = tonumber(length_ms), tonumber(end_ms)
  local bucket = tonumber(bucket_ms)
  if bucket > 0 then claim.ends = step.now - step.now % bucket + bucket end
  return at
end

function window_kind.check(claim, step)
  local window = windows[claim.key] or window_read(claim.key, step.now, claim.length_ms)
  if window.length_ms ~= claim.length_ms then error('one counter with two lengths: ' .. claim.key) end
  windows[claim.key], claim.window = window, window
  claim.reserved = tonumber(claim.known or '0') > step.now
  local used = window.requested
  if claim.reserved then
    -- What the subject reserved may come from another alternative with a higher limit.
    claim.holds = not claim.optional or amount_at_most(used, claim.max)
  else
    window.requested = amount_add(used, claim.amount)
    claim.holds = amount_at_most(window.requested, claim.max)
  end
  return { 'w', '0', claim.reserved and '1' or '0', amount_short(used) }
end

function window_kind.undo(claim)
  if not claim.reserved then claim.window.requested = amount_subtract(claim.window.requested, claim.amount) end
end

-- Adds the amount to the counter, unless the subject has reserved it. The reservation ends with the window:
-- otherwise a repeat after it would be approved without a limit.
function window_kind.reserve(claim, step, fields)
  if claim.reserved then return end
  window_add(claim.window, claim.amount, claim.ends, step.clock)
  fields[#fields + 1] = claim.remembered
  fields[#fields + 1] = ms(claim.window.ends + claim.length_ms)
end

-- mark: a key with the ms at which it was made is old enough. Header: exempt (1 or 0), least age in ms.

local mark_kind = {}

function mark_kind.read(claim, header, rest, at)
  local exempt, age_ms = string.match(header, '^([01]) (%d+)$', rest)
  if not exempt then error('unknown claim: ' .. header) end
  claim.exempt, claim.age_ms = exempt == '1', tonumber(age_ms)
  return at
end

function mark_kind.check(claim, step)
  local marked = redis.call('GET', claim.key)
  if marked and not string.match(marked, '^%d+$') then error('mark without its time: ' .. claim.key) end
  claim.marked = marked
  claim.holds = claim.exempt or marked and tonumber(marked) <= step.now - claim.age_ms
  return { 'm', '0', marked or '0' }
end

-- Makes the mark, or extends the retention of an existing one.
local function mark_make(key, marked, step)
  if marked then
    redis.call('PEXPIRE', key, step.subject_ms)
  else
    redis.call('SET', key, ms(step.now), 'PX', step.subject_ms, 'NX')
  end
end

function mark_kind.reserve(claim, step)
  mark_make(claim.key, claim.marked, step)
end

-- distinct: a counter has room for values that it does not count yet. Header: the field in which the subject
-- keeps until when its reservation counts, maximum, length ms (0 for a calendar period), end of a calendar
-- period in ms, whether only values without a mark count (1 or 0), number of values. Texts: the values. Keys:
-- the counter; if only values without a mark count, then the mark of each.
--
-- The counter is a sorted set of values. The score of a value is the ms until which it counts.

-- The most values that a counter keeps: one more than the greatest maximum.
local DISTINCT_KEPT = 1001

local distinct_kind, distincts = {}, {}

function distinct_kind.read(claim, header, rest, at, step)
  local remembered, max, length_ms, end_ms, only_new, count =
    string.match(header, '^(r:[%w@-]+) (%d+) (%d+) (%d+) ([01]) (%d+)$', rest)
  if not remembered then error('unknown claim: ' .. header) end
  claim.remembered, claim.max, claim.values = remembered, tonumber(max), {}
  claim.ends = length_ms == '0' and tonumber(end_ms) or step.now + tonumber(length_ms)
  for index = 1, tonumber(count) do claim.values[index] = ARGV[at + index - 1] end
  claim.only_new = only_new == '1'
  if claim.only_new then claim.keys = 1 + #claim.values end
  return at + #claim.values
end

-- Whether a value needs no room. Remembers which values have a mark.
local function distinct_knows(claim, index, now)
  if not claim.only_new then return tonumber(redis.call('ZSCORE', claim.key, claim.values[index]) or '0') > now end
  claim.marked[index] = redis.call('GET', KEYS[claim.keys_from + index])
  return claim.marked[index]
end

-- `requested` has the values that earlier claims of this settle requested in this counter, with the number of
-- these claims.
function distinct_kind.check(claim, step)
  local counter = distincts[claim.key]
  if not counter then
    local count = redis.call('ZCOUNT', claim.key, '(' .. ms(step.now), '+inf')
    counter = { count = count, requested = {} }
    distincts[claim.key] = counter
  end
  claim.counter, claim.marked, claim.unknown = counter, {}, {}
  for index, value in ipairs(claim.values) do
    if not distinct_knows(claim, index, step.now) then table.insert(claim.unknown, value) end
  end
  local counted, further = counter.count, 0
  claim.reserved = #claim.unknown == 0 and tonumber(claim.known or '0') > step.now
  for _, value in ipairs(claim.unknown) do
    local requests = counter.requested[value] or 0
    if requests == 0 then further = further + 1 end
    counter.requested[value] = requests + 1
  end
  counter.count = counted + further
  -- What the subject reserved may come from another alternative with a higher limit.
  claim.holds = #claim.values > 0 and (counter.count <= claim.max or claim.only_new and #claim.unknown == 0
    or claim.reserved and not claim.optional)
  return { 'd', '0', claim.reserved and '1' or '0', ms(counted), ms(further) }
end

function distinct_kind.undo(claim)
  local counter = claim.counter
  for _, value in ipairs(claim.unknown) do
    counter.requested[value] = counter.requested[value] - 1
    if counter.requested[value] == 0 then counter.count = counter.count - 1 end
  end
end

-- Counts the values from now on; if only values without a mark count, those. Makes or extends the marks.
function distinct_kind.reserve(claim, step, fields)
  for index, _ in ipairs(claim.only_new and claim.values or {}) do
    mark_make(KEYS[claim.keys_from + index], claim.marked[index], step)
  end
  local added = claim.only_new and claim.unknown or claim.values
  if claim.reserved or #added == 0 then return end
  for _, value in ipairs(added) do redis.call('ZADD', claim.key, ms(claim.ends), value) end
  redis.call('ZREMRANGEBYSCORE', claim.key, '-inf', ms(step.now))
  redis.call('ZREMRANGEBYRANK', claim.key, 0, -DISTINCT_KEPT - 1)
  redis.call('PEXPIRE', claim.key, ms(claim.ends - step.clock + EXPIRY_SLACK_MS))
  fields[#fields + 1] = claim.remembered
  fields[#fields + 1] = ms(claim.ends)
end

-- order: the callback agrees with the order that was announced for the subject. Header: number of members,
-- number of their other texts. Texts: name and text of each member, then of each other text. Both the order
-- and the subject keep when the order was used, so that a subject which Redis forgot does not use the order a
-- second time.

local order_kind = {}

function order_kind.read(claim, header, rest, at)
  local count, others = string.match(header, '^(%d+) (%d+)$', rest)
  if not count then error('unknown claim: ' .. header) end
  claim.remembered, claim.members = 'order', {}
  local last = at + 2 * (tonumber(count) + tonumber(others))
  for name = at, last - 2, 2 do
    local texts = claim.members[ARGV[name]] or {}
    texts[ARGV[name + 1]], claim.members[ARGV[name]] = true, texts
  end
  return last
end

local function order_found(order, claim, step, differs)
  if not order then return 'missing' end
  claim.in_use = order.state == 'used' and order.ended == claim.known
  local state = order_state(order, step.now)
  if state ~= 'expected' and not claim.in_use then return state end
  for name, text in pairs(order.members) do
    if not (claim.members[name] or {})[text] then table.insert(differs, name) end
  end
  return #differs == 0 and 'agrees' or 'differs'
end

function order_kind.check(claim, step)
  local differs = {}
  claim.order = order_read(claim.key)
  local found = order_found(claim.order, claim, step, differs)
  claim.holds = found == 'agrees'
  claim.usable = claim.holds or found == 'differs'
  local result = { 'o', '0', found }
  for _, name in ipairs(differs) do table.insert(result, name) end
  return result
end

-- Uses an expected order; if the claim only observes, also one that differs. Never uses an expired order: it
-- would hold from then on, once the rule is enforced.
function order_kind.reserve(claim, step, fields)
  local order = claim.order
  if not claim.usable then return end
  if order.state == 'expected' then
    redis.call('HSET', claim.key, 'state', 'used', 'ended', ms(step.now))
    table.insert(fields, 'order')
    table.insert(fields, ms(step.now))
  end
  order_keep(claim.key, order.expires, step.clock, step.subject_ms)
end

-- speed-up: the subject was approved before, not too long ago, with few other speed-ups. Header: most other
-- speed-ups, within how many ms. The subject keeps the decision on a question in the field `d:` and the
-- question, and that on each speed-up in the same field with `+` and the number of txids at that time.

local speed_up_kind = {}

function speed_up_kind.read(claim, header, rest, at)
  local max, within_ms = string.match(header, '^(%d+) (%d+)$', rest)
  if not max then error('unknown claim: ' .. header) end
  claim.max, claim.within_ms = tonumber(max), tonumber(within_ms)
  return at
end

-- Returns when an approval was decided, in ms; 0 for any other decision.
local function approved_at(decision)
  local earlier = decision and cjson.decode(decision) or {}
  return earlier[1] == 'SUCCESS' and tonumber(string.match(earlier[3], '^(%d+)%-')) or 0
end

function speed_up_kind.check(claim, step)
  local question, others = 'd:' .. step.question, {}
  for txids = 0, #cjson.decode(step.txids or '[]') do
    local other = question .. '+' .. txids
    if other ~= step.field then table.insert(others, other) end
  end
  local at, speed_ups = approved_at(step.decision), 0
  for _, decision in ipairs(fields_get(claim.key, others)) do
    if approved_at(decision) > 0 then speed_ups = speed_ups + 1 end
  end
  claim.holds = at > 0 and step.now - at <= claim.within_ms and speed_ups < claim.max
  return { 's', '0', ms(at), ms(speed_ups) }
end

-- refusals: a key is not locked out. Header: the key, after how many refusals, within how many ms, for how many
-- ms (0: until somebody lifts it). Texts: the policy, and who is locked out. Keys: the refusals of the key, and
-- the lock-outs of the source.
--
-- The refusals are a hash: for each operation `s:` and its subject, with the ms until which it counts. If the key
-- is locked out, the hash has instead `locked` (since when in ms, until when or 0, and how many refusals there
-- were, with blanks between), `policy` and `whose`. The lock-outs are a sorted set of keys, with the ms at which
-- each ends.

local refusals_kind = {}

function refusals_kind.read(claim, header, rest, at)
  local id, after, within_ms, for_ms = string.match(header, '^(%x+) (%d+) (%d+) (%d+)$', rest)
  if not id then error('unknown claim: ' .. header) end
  claim.id, claim.after, claim.within_ms, claim.for_ms = id, tonumber(after), tonumber(within_ms), tonumber(for_ms)
  claim.policy, claim.whose, claim.keys, claim.uncounted = ARGV[at], ARGV[at + 1], 2, true
  return at + 2
end

function refusals_kind.check(claim, step)
  local flat = redis.call('HGETALL', claim.key)
  claim.refusals, claim.subjects, claim.past, claim.locked = 0, {}, {}, false
  claim.latest = 0
  for at = 1, #flat, 2 do
    local field, text = flat[at], flat[at + 1]
    if field == 'locked' then
      local since, ends, refusals = string.match(text, '^(%d+) (%d+) (%d+)$')
      if not since then error('lock-out without its time: ' .. claim.key) end
      claim.ended = ends ~= '0' and tonumber(ends) <= step.now
      if not claim.ended then claim.locked = { 'r', '0', refusals, since, ends } end
    elseif string.sub(field, 1, 2) == 's:' then
      if not string.match(text, '^%d+$') then error('refusal without its time: ' .. claim.key) end
      if tonumber(text) > step.now then
        claim.refusals, claim.subjects[field] = claim.refusals + 1, true
        claim.latest = math.max(claim.latest, tonumber(text))
      else
        table.insert(claim.past, field)
      end
    end
  end
  claim.holds = not claim.locked
  return claim.locked or { 'r', '0', ms(claim.refusals), '0', '0' }
end

function refusals_kind.refuse(claim, step)
  if claim.locked then return end
  local refusals = claim.refusals + (claim.subjects['s:' .. step.subject] and 0 or 1)
  claim.result[3] = ms(refusals)
  if refusals < claim.after then return end
  claim.locks = true
  claim.result[4] = ms(step.now)
  if claim.for_ms > 0 then claim.result[5] = ms(step.now + claim.for_ms) end
end

-- By key, what claims of alternatives have written for this refusal: until when it counts, or until when it locks
-- out. The longest of each applies.
local refusals_written = {}

function refusals_kind.count_refusal(claim, step)
  if claim.locked then return end
  local written = refusals_written[claim.key] or { counts = 0, locks = 0 }
  refusals_written[claim.key] = written
  if not claim.locks then
    local ends = step.now + claim.within_ms
    if written.locks > 0 or written.counts >= ends then return end
    written.counts = ends
    if claim.ended then redis.call('DEL', claim.key) end
    if #claim.past > 0 then redis.call('HDEL', claim.key, unpack(claim.past)) end
    redis.call('HSET', claim.key, 's:' .. step.subject, ms(ends))
    redis.call('PEXPIRE', claim.key, ms(math.max(ends, claim.latest) - step.clock + EXPIRY_SLACK_MS))
    return
  end
  local refusals, since, ends = claim.result[3], claim.result[4], claim.result[5]
  local locks = ends == '0' and math.huge or tonumber(ends)
  if written.locks >= locks then return end
  written.locks = locks
  redis.call('DEL', claim.key)
  redis.call('HSET', claim.key, 'locked', since .. ' ' .. ends .. ' ' .. refusals, 'policy', claim.policy,
    'whose', claim.whose)
  redis.call('ZREMRANGEBYSCORE', KEYS[claim.keys_from + 1], '-inf', since)
  redis.call('ZADD', KEYS[claim.keys_from + 1], ends == '0' and '+inf' or ends, claim.id)
  if ends ~= '0' then
    redis.call('PEXPIRE', claim.key, ms(step.now + claim.for_ms - step.clock + EXPIRY_SLACK_MS))
  end
end

local CLAIM_KINDS = {
  list = list_kind, aged = aged_kind, window = window_kind, mark = mark_kind, order = order_kind,
  ['speed-up'] = speed_up_kind, distinct = distinct_kind, refusals = refusals_kind,
}
