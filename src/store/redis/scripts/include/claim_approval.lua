--- @include approval_request

-- approval: an approval request of the source is at the version at which the caller has read it. Header: the
-- version; `-` if too few people have approved it, so that it never holds. Text: the id of the request. Keys: the
-- request, and the open requests of the source. Both the request and the subject, in its field `a:` and the id,
-- keep the entry of the approval that used the request, so that a subject which Redis forgot does not use it a
-- second time.
function CLAIM_KINDS.approval()
  local kind = { plain = true }

  function kind.read(claim, header, rest, at)
    local version = string.match(header, '^(%d+)$', rest)
    if not version and string.sub(header, rest) ~= '-' then error('unknown claim: ' .. header) end
    claim.version, claim.id = version and tonumber(version), ARGV[at]
    claim.remembered = 'a:' .. claim.id
    return at + 1, 2
  end

  local function request_found(request, claim)
    if not request then return 'missing' end
    if request.used ~= '' and request.used ~= claim.known then return 'used' end
    return request.version == claim.version and 'current' or 'changed'
  end

  function kind.check(claim, step)
    claim.request = approval_request_read(claim.key, KEYS[claim.keys_from + 1], claim.id, step.now)
    local found = request_found(claim.request, claim)
    claim.holds = found == 'current'
    claim.awaits = found == 'missing' or found == 'changed'
    return { 'p', '0', found }
  end

  function kind.reserve(claim, step, fields, entry)
    if not claim.holds then return end
    local request = claim.request
    if request.used == '' then
      redis.call('HSET', claim.key, 'used', entry, 'open', '0', 'version', ms(request.version))
      redis.call('HDEL', KEYS[claim.keys_from + 1], claim.id)
      fields[#fields + 1] = claim.remembered
      fields[#fields + 1] = entry
    end
    redis.call('PEXPIRE', claim.key, ms(math.max(0, request.ends - step.clock) + tonumber(step.subject_ms)))
  end

  return kind
end
