-- Exact arithmetic on whole numbers of any length, given and returned as decimal text without leading zeros. A Lua
-- number is a double, so the text is worked on in chunks of 14 digits: each, and a sum of two, is exact below 2^53.
local CHUNK = 14
local BASE = 1e14
-- Most chunks of most amounts, which have 36 decimals and need two.
local ZEROS = string.rep('0', CHUNK)

local function chunk(text, last)
  return last < 1 and '0' or string.sub(text, math.max(1, last - CHUNK + 1), last)
end

local function amount_check(text)
  if not string.match(text, '^%d+$') then error('not an amount: ' .. text) end
end

-- a + sign * b, for a sign of 1 or -1; an error if the result would be below zero.
local function amount_combine(a, b, sign)
  amount_check(a)
  amount_check(b)
  local text, carry, i, j = '', 0, #a, #b
  while i > 0 or j > 0 do
    local x, y = chunk(a, i), chunk(b, j)
    if carry == 0 and x == ZEROS and y == ZEROS then
      text = ZEROS .. text
    else
      local value = tonumber(x) + sign * tonumber(y) + carry
      carry = 0
      if value >= BASE then value, carry = value - BASE, 1 end
      if value < 0 then value, carry = value + BASE, -1 end
      text = string.format('%014.0f', value) .. text
    end
    i, j = i - CHUNK, j - CHUNK
  end
  if carry < 0 then error('an amount below zero: ' .. a .. ' - ' .. b) end
  text = string.gsub(carry == 1 and '1' .. text or text, '^0+', '')
  return text == '' and '0' or text
end

-- Amounts of at most 8 decimals and 15 digits, as most are, end in two chunks of zeros and are one exact number before.
local SHORT_TAIL = ZEROS .. ZEROS
local SHORT = #SHORT_TAIL + 15

local function amount_add(a, b)
  if #a <= SHORT and #b <= SHORT and string.sub(a, -#SHORT_TAIL) == SHORT_TAIL and string.sub(b, -#SHORT_TAIL) == SHORT_TAIL then
    amount_check(a)
    amount_check(b)
    return string.format('%.0f', tonumber(string.sub(a, 1, -#SHORT_TAIL - 1)) + tonumber(string.sub(b, 1, -#SHORT_TAIL - 1))) .. SHORT_TAIL
  end
  return amount_combine(a, b, 1)
end

local function amount_subtract(a, b) return amount_combine(a, b, -1) end

local function amount_at_most(a, b)
  amount_check(a)
  amount_check(b)
  if #a ~= #b then return #a < #b end
  local first = 1
  while first <= #a do
    local last = math.min(first + CHUNK - 1, #a)
    local x, y = string.sub(a, first, last), string.sub(b, first, last)
    if x ~= y then return tonumber(x) < tonumber(y) end
    first = last + 1
  end
  return true
end
