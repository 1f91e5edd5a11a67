-- Exact arithmetic on whole numbers of any length, given and returned as decimal text without leading zeros. A Lua
-- number is a double, so the text is worked on in chunks of 14 digits: each, and a sum of two, is exact below 2^53.
local CHUNK = 14
local BASE = 1e14

local function chunk(text, last)
  if last < 1 then return 0 end
  return tonumber(string.sub(text, math.max(1, last - CHUNK + 1), last))
end

local function amount_check(text)
  if not string.match(text, '^%d+$') then error('not an amount: ' .. text) end
end

local function amount_join(chunks)
  local text = string.gsub(table.concat(chunks), '^0+', '')
  return text == '' and '0' or text
end

-- a + sign * b, for a sign of 1 or -1; an error if the result would be below zero.
local function amount_combine(a, b, sign)
  amount_check(a)
  amount_check(b)
  local chunks, carry, i, j = {}, 0, #a, #b
  while i > 0 or j > 0 do
    local value = chunk(a, i) + sign * chunk(b, j) + carry
    carry = 0
    if value >= BASE then value, carry = value - BASE, 1 end
    if value < 0 then value, carry = value + BASE, -1 end
    table.insert(chunks, 1, string.format('%014.0f', value))
    i, j = i - CHUNK, j - CHUNK
  end
  if carry < 0 then error('an amount below zero: ' .. a .. ' - ' .. b) end
  table.insert(chunks, 1, string.format('%.0f', carry))
  return amount_join(chunks)
end

local function amount_add(a, b) return amount_combine(a, b, 1) end

local function amount_subtract(a, b) return amount_combine(a, b, -1) end

local function amount_at_most(a, b)
  amount_check(a)
  amount_check(b)
  if #a ~= #b then return #a < #b end
  local first = 1
  while first <= #a do
    local last = math.min(first + CHUNK - 1, #a)
    local x, y = tonumber(string.sub(a, first, last)), tonumber(string.sub(b, first, last))
    if x ~= y then return x < y end
    first = last + 1
  end
  return true
end
