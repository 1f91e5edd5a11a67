--- @include time

-- An approval request is one hash: `version`, `value`, `open` (1 if its last change left it open, otherwise 0),
-- `until` in ms, and `used`, the id of the entry of the approval that used it. The open requests of a scope are
-- another hash: the id of each, with its place among them and its `until`, and a blank between.
--
-- A request is open as long as that hash has it. If the hash lacks one that its last change left open, the store
-- has ended it to make room for another. That is a change, so its version is one higher than the record says.
--
-- Returns the request; nil if there is none.
local function approval_request_read(key, open_requests, id, now)
  local found = redis.call('HMGET', key, 'version', 'value', 'open', 'until', 'used')
  local version, value, open, ends, used = unpack(found)
  if not version then return nil end
  if not string.match(version, '^%d+$') or not string.match(ends or '', '^%d+$') then
    error('approval request without its version or time: ' .. key)
  end
  if not used and tonumber(ends) <= now then return nil end
  local request = {
    version = tonumber(version), value = value, ends = tonumber(ends), used = used or '', open = false,
  }
  if open == '1' then
    request.open = redis.call('HGET', open_requests, id) and true or false
    if not request.open then request.version = request.version + 1 end
  end
  return request
end
