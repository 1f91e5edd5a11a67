-- Exact arithmetic on amounts, which are whole numbers of any length. Most have 28 trailing zeros and at most
-- 15 digits before them. Such an amount is stored as the number of these digits, which a double holds
-- exactly. Any other amount is its decimal text without leading zeros. It is processed in chunks of 14
-- digits, whose sums are exact below 2^53.
local TAIL = string.rep('0', 28)
local SHORT_DIGITS = 15
local SHORT = #TAIL + SHORT_DIGITS
local CHUNK = 14
local BASE = 1e14

-- Returns the amount of a text that has only digits.
local function amount_of(digits)
  if #digits <= SHORT and string.sub(digits, -28) == TAIL then
    return tonumber(string.sub(digits, 1, -29)) or error('not an amount: ' .. digits)
  end
  return digits == '0' and 0 or digits
end

-- Returns the amount of any text: digits, of which zeros at the end may be written as an exponent, such as
-- `e28`.
local function amount_read(text)
  local digits, zeros = string.match(text, '^(%d+)(.*)$')
  if zeros == '' then return amount_of(digits) end
  if zeros == 'e28' then return #digits > SHORT_DIGITS and digits .. TAIL or tonumber(digits) end
  local count = tonumber(string.match(zeros or '', '^e(%d%d?)$') or error('not an amount: ' .. text))
  return amount_of(digits .. string.rep('0', count))
end

-- Returns the digits of an amount.
local function amount_text(amount)
  if type(amount) == 'string' then return amount end
  return amount == 0 and '0' or string.format('%d', amount) .. TAIL
end

-- Returns the digits of an amount, most amounts with an exponent.
local function amount_short(amount)
  if type(amount) == 'string' or amount == 0 then return amount_text(amount) end
  local digits, zeros = string.match(string.format('%d', amount), '^(%d-)(0*)$')
  return digits .. 'e' .. #zeros + #TAIL
end

local function chunk(text, last)
  return last < 1 and 0 or tonumber(string.sub(text, math.max(1, last - CHUNK + 1), last))
end

-- Returns a + sign * b, where sign is 1 or -1. Fails if the result is below zero.
local function amount_combine(a, b, sign)
  a, b = amount_text(a), amount_text(b)
  local text, carry, i, j = '', 0, #a, #b
  while i > 0 or j > 0 do
    local value = chunk(a, i) + sign * chunk(b, j) + carry
    carry = 0
    if value >= BASE then value, carry = value - BASE, 1 end
    if value < 0 then value, carry = value + BASE, -1 end
    text = string.format('%014.0f', value) .. text
    i, j = i - CHUNK, j - CHUNK
  end
  if carry < 0 then error('an amount below zero: ' .. a .. ' - ' .. b) end
  text = string.gsub(carry == 1 and '1' .. text or text, '^0+', '')
  return amount_of(text == '' and '0' or text)
end

local LONGEST_SHORT = 999999999999999

local function amount_add(a, b)
  if type(a) == 'number' and type(b) == 'number' and a + b <= LONGEST_SHORT then return a + b end
  return amount_combine(a, b, 1)
end

local function amount_subtract(a, b)
  if type(a) == 'number' and type(b) == 'number' and a >= b then return a - b end
  return amount_combine(a, b, -1)
end

local function amount_at_most(a, b)
  if type(a) == 'number' and type(b) == 'number' then return a <= b end
  if type(a) == 'number' and #b > SHORT then return true end
  a, b = amount_text(a), amount_text(b)
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
