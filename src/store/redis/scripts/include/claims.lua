-- The kinds of claims. An argument of settle.lua is a claim's header: its kind, whether it decides, how its
-- refusal stands, whether it is made only because something failed (1 or 0), and then the parameters of its
-- kind, separated by blanks. The claim's texts follow, an argument each. Each kind has:
--
-- read(claim, header, rest, at, step): reads the parameters from position `rest` of the header, and the texts
--   from argument `at` on. Returns the position of the next argument, and the number of its keys if it has
--   several. Sets `claim.remembered` to a field of the subject that it needs.
-- check(claim, step): sets `claim.holds` and returns the result, whose second text is '0' until settle.lua
--   sets it: see src/claims/stored.ts. Sets `claim.awaits` if it fails only for lack of people's approval.
-- undo(claim): takes back what `check` counted, because the alternative of the claim is not taken.
-- refuse(claim, step): on a refusal that counts for lock-outs, changes `claim.result`. That of a claim with
--   `claim.failed` does not count.
-- count_refusal(claim, step): after `refuse`, writes the refusal.
-- reserve(claim, step, fields, entry): on approval, writes what the claim uses, and adds to the fields of the
--   subject. `entry` is the id of the approval's entry.
-- plain: true if its results have only texts without blanks.
--
-- Here are the functions that make them. Redis runs a script from its first line each time, so only the kinds
-- that a decision needs are made.
local CLAIM_KINDS = {}

--- @include claim_approval
--- @include claim_lists
--- @include claim_marks
--- @include claim_order
--- @include claim_refusals
--- @include claim_speed_up
--- @include claim_window

local claim_kinds = {}

local function claim_kind(name)
  local make = CLAIM_KINDS[name]
  if make and not claim_kinds[name] then claim_kinds[name] = make() end
  return claim_kinds[name]
end

-- Returns a result as it is stored: its texts with blanks between, or a table if a text has a blank itself.
local function result_joined(kind, result)
  if kind.plain then return table.concat(result, ' ') end
  for _, text in ipairs(result) do
    if type(text) ~= 'string' or string.find(text, ' ', 1, true) then return result end
  end
  return table.concat(result, ' ')
end
