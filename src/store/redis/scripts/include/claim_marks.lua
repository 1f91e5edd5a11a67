--- @include time

-- Makes the mark, or extends the retention of an existing one.
local function mark_make(key, marked, step)
  if marked then
    redis.call('PEXPIRE', key, step.subject_ms)
  else
    redis.call('SET', key, ms(step.now), 'PX', step.subject_ms, 'NX')
  end
end

-- mark: a key with the ms at which it was made is old enough. Header: exempt (1 or 0), least age in ms.
function CLAIM_KINDS.mark()
  local kind = { plain = true }

  function kind.read(claim, header, rest, at)
    local exempt, age_ms = string.match(header, '^([01]) (%d+)$', rest)
    if not exempt then error('unknown claim: ' .. header) end
    claim.exempt, claim.age_ms = exempt == '1', tonumber(age_ms)
    return at
  end

  function kind.check(claim, step)
    local marked = redis.call('GET', claim.key)
    if marked and not string.match(marked, '^%d+$') then error('mark without its time: ' .. claim.key) end
    claim.marked = marked
    claim.holds = claim.exempt or marked and tonumber(marked) <= step.now - claim.age_ms
    return { 'm', '0', marked or '0' }
  end

  function kind.reserve(claim, step)
    mark_make(claim.key, claim.marked, step)
  end

  return kind
end

-- distinct: with the claim's values, a counter counts at most so many. Header: the field in which the subject
-- keeps until when its values count, maximum, length ms (0 for a calendar period), end of a calendar period
-- in ms, whether only values without a mark count (1 or 0), number of values. Texts: the values. Keys: the
-- counter; if only values without a mark count, then the mark of each.
--
-- The counter is a sorted set of values. The score of a value is the ms until which it counts. The subject
-- keeps in its field `firsts` the values whose marks its approvals have made, with blanks between: for it,
-- they stay new.
function CLAIM_KINDS.distinct()
  -- The most values that a counter keeps: one more than the greatest maximum.
  local DISTINCT_KEPT = 1001

  local kind, distincts, firsts = { plain = true }, {}, nil

  function kind.read(claim, header, rest, at, step)
    local field, max, length_ms, end_ms, only_new, count =
      string.match(header, '^(r:[%w@-]+) (%d+) (%d+) (%d+) ([01]) (%d+)$', rest)
    if not field then error('unknown claim: ' .. header) end
    claim.field, claim.max, claim.values = field, tonumber(max), {}
    claim.ends = length_ms == '0' and tonumber(end_ms) or step.now + tonumber(length_ms)
    for index = 1, tonumber(count) do claim.values[index] = ARGV[at + index - 1] end
    claim.only_new = only_new == '1'
    if claim.only_new then claim.remembered = 'firsts' end
    return at + #claim.values, claim.only_new and 1 + #claim.values or 1
  end

  -- Returns the values that count. Remembers which values have a mark.
  local function distinct_counting(claim)
    if not claim.only_new then return claim.values end
    if not firsts then
      firsts = { text = claim.known or '', has = {} }
      for value in string.gmatch(firsts.text, '%S+') do firsts.has[value] = true end
    end
    local counting = {}
    for index, value in ipairs(claim.values) do
      claim.marked[index] = redis.call('GET', KEYS[claim.keys_from + index])
      if firsts.has[value] or not claim.marked[index] then counting[#counting + 1] = value end
    end
    return counting
  end

  -- `requested` has the values that earlier claims of this settle requested in this counter, with the number
  -- of these claims.
  function kind.check(claim, step)
    local counter = distincts[claim.key]
    if not counter then
      local count = redis.call('ZCOUNT', claim.key, '(' .. ms(step.now), '+inf')
      counter = { count = count, requested = {} }
      distincts[claim.key] = counter
    end
    claim.counter, claim.marked, claim.unknown = counter, {}, {}
    claim.counting = distinct_counting(claim)
    for _, value in ipairs(claim.counting) do
      if tonumber(redis.call('ZSCORE', claim.key, value) or '0') <= step.now then table.insert(claim.unknown, value) end
    end
    local counted, further = counter.count, 0
    for _, value in ipairs(claim.unknown) do
      local requests = counter.requested[value] or 0
      if requests == 0 then further = further + 1 end
      counter.requested[value] = requests + 1
    end
    counter.count = counted + further
    claim.holds = #claim.values > 0 and (counter.count <= claim.max or #claim.counting == 0)
    return { 'd', '0', ms(counted), ms(further) }
  end

  function kind.undo(claim)
    local counter = claim.counter
    for _, value in ipairs(claim.unknown) do
      counter.requested[value] = counter.requested[value] - 1
      if counter.requested[value] == 0 then counter.count = counter.count - 1 end
    end
  end

  -- Counts the values that count from now on. If only values without a mark count, makes or extends the
  -- marks.
  function kind.reserve(claim, step, fields)
    for index, _ in ipairs(claim.only_new and claim.values or {}) do
      mark_make(KEYS[claim.keys_from + index], claim.marked[index], step)
    end
    if #claim.counting == 0 then return end
    for _, value in ipairs(claim.counting) do
      redis.call('ZADD', claim.key, 'GT', ms(claim.ends), value)
      if claim.only_new and not firsts.has[value] then
        firsts.has[value], firsts.text = true, firsts.text .. ' ' .. value
      end
    end
    redis.call('ZREMRANGEBYSCORE', claim.key, '-inf', ms(step.now))
    redis.call('ZREMRANGEBYRANK', claim.key, 0, -DISTINCT_KEPT - 1)
    redis.call('PEXPIRE', claim.key, ms(claim.ends - step.clock + EXPIRY_SLACK_MS))
    fields[#fields + 1] = claim.field
    fields[#fields + 1] = ms(claim.ends)
    if claim.only_new then
      fields[#fields + 1] = 'firsts'
      fields[#fields + 1] = firsts.text
    end
  end

  return kind
end
