-- The field `frozen`, of the record and of each copy: empty while no freeze is in effect, this while all in
-- effect except what people approve, and otherwise `1`.
local EXCEPT_APPROVED = 'except-approved'

-- Whether nothing may be approved. A field that is missing or unknown says so too.
local function frozen_all(field)
  return field ~= '' and field ~= EXCEPT_APPROVED
end
