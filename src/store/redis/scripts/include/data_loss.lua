-- Compares a source with what a process remembers: see src/store/redis/data-loss.ts. Returns `gone` if the
-- source has no epoch, `other` if it has another epoch, `behind` if its mark is older than that of the
-- process, and nil if nothing is lost. An empty text means that the process does not know the value. The mark
-- of the source may be newer, because replies are in flight or processes share the field.
local function loss_in(epoch, known_epoch, mark, known_mark)
  if known_epoch ~= '' and epoch ~= known_epoch then return epoch and 'other' or 'gone' end
  if known_mark == '' or mark == known_mark then return nil end
  local at, number = string.match(mark or '', '^(%d+)-(%d+)$')
  if not at then return 'behind' end
  local known_at, known_number = string.match(known_mark, '^(%d+)-(%d+)$')
  at, known_at = tonumber(at), tonumber(known_at)
  if at < known_at or at == known_at and tonumber(number) < tonumber(known_number) then return 'behind' end
end
