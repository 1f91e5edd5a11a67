-- Compares a source with what a process knows: see src/store/redis/data-loss.ts. `gone`: the
-- epoch. `other`: its epoch is another one. `behind`: its mark is older than the process's mark. Nil if
-- nothing is lost. An empty text is unknown to the process. The source's mark may be newer, because replies
-- are in flight or processes share the field.
local function loss_in(epoch, known_epoch, mark, known_mark)
  if known_epoch ~= '' and epoch ~= known_epoch then return epoch and 'other' or 'gone' end
  if known_mark == '' or mark == known_mark then return nil end
  local at, number = string.match(mark or '', '^(%d+)-(%d+)$')
  if not at then return 'behind' end
  local known_at, known_number = string.match(known_mark, '^(%d+)-(%d+)$')
  at, known_at = tonumber(at), tonumber(known_at)
  if at < known_at or at == known_at and tonumber(number) < tonumber(known_number) then return 'behind' end
end
