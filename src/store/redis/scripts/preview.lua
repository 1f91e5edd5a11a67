#!lua flags=no-writes
-- What settle.lua would return now. Redis itself lets this script write nothing.
--
-- KEYS and ARGV: those of settle.lua, but ARGV 2 is `right` if the caller has compared the clock and knows that
-- it has not jumped, otherwise empty
-- Returns what settle.lua returns; in place of the id of an entry, the time in ms and `-0`
--- @include claims

local effects = { clock_is_right = ARGV[2] == 'right' }

function effects.append(_, _, step)
  return ms(step.now) .. '-0'
end

function effects.reserve()
end

function effects.refuse()
end

--- @include settlement
