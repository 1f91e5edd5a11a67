-- What a source has lost of what a process knows of it: `gone` or `other` than the epoch, or `behind` an
-- approval; nil if nothing. The empty text is what the process does not know. The witness may be later than
-- the newest: answers are under way.
local function lost_what(epoch, known_epoch, witness, newest)
  if known_epoch ~= '' and epoch ~= known_epoch then return epoch and 'other' or 'gone' end
  if newest == '' or witness == newest then return nil end
  local at, number = string.match(witness or '', '^(%d+)-(%d+)$')
  if not at then return 'behind' end
  local newest_at, newest_number = string.match(newest, '^(%d+)-(%d+)$')
  at, newest_at = tonumber(at), tonumber(newest_at)
  if at < newest_at or at == newest_at and tonumber(number) < tonumber(newest_number) then return 'behind' end
end
