-- Writes an approval request, if it is still at the version that the caller has read.
--
-- KEYS 1 control of the source, or in force, 2 request, 3 open requests
-- ARGV 1 clock, 2 id, 3 expected version (0: there must be no request), 4 value, 5 whether it is open (1 or
--      0), 6 how long it is kept ms, 7 subject retention ms, 8 most open requests
-- Returns {changed} | {changed, id of the open request that was ended to make room} | {other version}
--- @include approval_request

local key, open_requests, id, keep_ms = KEYS[2], KEYS[3], ARGV[2], tonumber(ARGV[6])
local now, _, clock = time_now(KEYS[1], ARGV[1])
local request = approval_request_read(key, open_requests, id, now)
local version = request and request.version or 0
if ms(version) ~= ARGV[3] then return { 'other version' } end

-- Returns the place of the request among the open ones, and the id of the one that was ended for it.
local function open_place()
  local flat = redis.call('HGETALL', open_requests)
  local count, last, first, oldest = 0, 0, math.huge, nil
  for at = 1, #flat, 2 do
    local other, place, ends = flat[at], string.match(flat[at + 1], '^(%d+) (%d+)$')
    if not place then error('open approval request without its place: ' .. open_requests) end
    place = tonumber(place)
    last = math.max(last, place)
    if other == id then
      if request and request.open then return place end
    elseif tonumber(ends) <= now then
      redis.call('HDEL', open_requests, other)
    else
      count = count + 1
      if place < first then first, oldest = place, other end
    end
  end
  if count < tonumber(ARGV[8]) then return last + 1 end
  redis.call('HDEL', open_requests, oldest)
  return last + 1, oldest
end

local used = request and request.used ~= ''
local open = ARGV[5] == '1' and not used
local ends, ended = ms(now + keep_ms), nil
if open then
  local place
  place, ended = open_place()
  redis.call('HSET', open_requests, id, ms(place) .. ' ' .. ends)
else
  redis.call('HDEL', open_requests, id)
end
redis.call('HSET', key, 'version', ms(version + 1), 'value', ARGV[4], 'open', open and '1' or '0', 'until', ends)
-- Redis expires keys by its own clock, which may be behind the time.
local kept_ms = keep_ms + math.max(0, now - clock) + (used and tonumber(ARGV[7]) or 0)
redis.call('PEXPIRE', key, ms(kept_ms))
return { 'changed', ended }
