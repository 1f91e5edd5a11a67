--- @include time

-- refusals: a key is not locked out. Header: the key, after how many refusals, within how many ms, for how many
-- ms (0: until somebody lifts it). Texts: the policy, and who is locked out. Keys: the refusals of the key, and
-- the lock-outs of the source.
--
-- The refusals are a hash: for each operation `s:` and its subject, with the ms until which it counts. If the key
-- is locked out, the hash has instead `locked` (since when in ms, until when or 0, and how many refusals there
-- were, with blanks between), `policy` and `whose`. The lock-outs are a sorted set of keys, with the ms at which
-- each ends.
function CLAIM_KINDS.refusals()
  local kind = { plain = true }

  function kind.read(claim, header, rest, at)
    local id, after, within_ms, for_ms = string.match(header, '^(%x+) (%d+) (%d+) (%d+)$', rest)
    if not id then error('unknown claim: ' .. header) end
    claim.id, claim.after = id, tonumber(after)
    claim.within_ms, claim.for_ms = tonumber(within_ms), tonumber(for_ms)
    claim.policy, claim.whose, claim.failed = ARGV[at], ARGV[at + 1], true
    return at + 2, 2
  end

  function kind.check(claim, step)
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

  function kind.refuse(claim, step)
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

  function kind.count_refusal(claim, step)
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

  return kind
end
