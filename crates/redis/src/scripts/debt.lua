-- A debt that drains: the twin of `debt.rs`, for the token bucket, the leaky bucket and GCRA. Not an algorithm to choose.
--
-- One cell of cost is `period` units, and `count` units drain each microsecond. The three share their states: a limit that
-- becomes one of the others keeps what is owed. A state is 28 bytes: that it is a debt, the count by which it was charged last, since when (see `state.lua`), when it was written, what was owed then, and the
-- period. A count of 2^24 or a period of 2^40 and more take six bytes more. (With more than 28 bytes, Debian's Redis takes
-- sixteen more for each key.) Count and period are all that a debt drains by, so that they are its mark.

---- numbers
local count, period, since, by, is_other, owed, wide

---- limit
tag, cost, capacity, count, period, rest = unpack('>BI7I7I7I7', argument, rest)

---- standing
-- One assignment each: two at once take twice the time.
at = now
owed = 0
since = now / 4096
is_other = false
local kind, from, written, debt, units
if state and #state == 28 then
  kind, by, from, written, debt, units = unpack('>BI3I5I7I7I5', state)
elseif state and #state == 34 then
  kind, by, from, written, debt, units = unpack('>BI7I5I7I7I7', state)
  if kind == tag and ((units < 1099511627776 and by < 16777216) or units > INSTANT_MAX or by > INSTANT_MAX) then
    return -index
  end
end
if state and kind ~= tag then
  --> other
elseif state then
  if debt >= BEYOND or units == 0 or by == 0 then return -index end
  if written > now then
    if written > INSTANT_MAX then return -index end
    local burst = capacity * period
    local over = fmod(burst, count)
    local drain = (burst - over) / count
    if over > 0 then drain = drain + 1 end
    if written - now <= drain then
      at = written
    else
      written, debt, from = now, 0, since
    end
  end
  if units == period then
    -- A product that is too large to be exact is larger than any debt all the same.
    local drained = (at - written) * count
    if drained < debt then owed = debt - drained end
  else
    --> converted_after
  end
  if by == count and units == period then
    since = from
  else
    is_other = true
    --> met
  end
end

---- lasting
lasts = owed > 0 and at - now + (owed < BEYOND and owed or wide) / count or 0

---- joined
-- It drains as it did before, and so much more is owed; not more than can be written.
if debt > 0 then
  count, period, since, joins = by, units, from, true
  local drained = (at - written) * count
  owed = drained < debt and debt - drained or 0
  local most_of_units = (INSTANT_MAX - fmod(INSTANT_MAX, units)) / units
  if capacity > most_of_units then capacity = most_of_units end
end

---- outlives
-- It is kept for as long as it drains.

---- converted_after
-- A debt that was written in another period: all of it, converted exactly, and rounded up by less than a unit. The numbers
-- on the way have up to 105 bits, in two halves. A debt that has more than 53 bits in the end is beyond counting: nothing
-- fits under it, and it is never written.

-- a * b / c, rounded down, as high * 2^52 + low, and whether something is left over. It doubles and adds, and reduces as it
-- goes, so that no number on the way reaches 2^53.
local function scaled(a, b, c)
  local rest_of_b = fmod(b, c)
  local whole_of_b = (b - rest_of_b) / c
  local high, low, left = 0, 0, 0
  local bit = INSTANT_MAX + 1
  while bit >= 1 do
    high, low, left = high * 2, low * 2, left * 2
    if low > INSTANT_MAX then high, low = high + 1, low - INSTANT_MAX - 1 end
    if left >= c then low, left = low + 1, left - c end
    if a >= bit then
      a, low, left = a - bit, low + whole_of_b, left + rest_of_b
      if left >= c then low, left = low + 1, left - c end
    end
    if low > INSTANT_MAX then high, low = high + 1, low - INSTANT_MAX - 1 end
    bit = bit / 2
  end
  return high, low, left > 0
end
local high, low, is_more = scaled(debt, period, units)
if is_more then low = low + 1 end
local drained_high, drained_low = scaled(at - written, count, 1)
high, low = high - drained_high, low - drained_low
if low < 0 then high, low = high - 1, low + INSTANT_MAX + 1 end
if high > 1 then
  owed, wide = BEYOND, high * (INSTANT_MAX + 1) + low
elseif high >= 0 then
  owed = high * (INSTANT_MAX + 1) + low
end

---- room
local part_of_cell = fmod(owed, period)
local cells = (owed - part_of_cell) / period
if part_of_cell > 0 then cells = cells + 1 end
room = most - cells
if room < 0 then room = 0 end

---- fits
-- Without a division: how much room there is, nobody asks here. A sum that is too large to be exact is larger than any capacity.
if owed + cost * period > capacity * period then
  --> refused
end

---- charged
owed = owed + amount * period

---- refunded
-- If the clock went back so far that the charge was forgotten, what is owed now is owed for something else.
if receipt_at <= at and units == period then
  -- What has drained since the charge has been given back already.
  local weighs = receipt_cost * period - (at - receipt_at) * count
  if weighs > owed then weighs = owed end
  if weighs > part * period then weighs = part * period end
  if weighs > 0 then owed, changed = owed - weighs, true end
end

---- change
local is_short = period < 1099511627776 and count < 16777216
after = owed > 0 and pack(is_short and '>BI3I5I7I7I5' or '>BI7I5I7I7I7', tag, count, since, at, owed, period)
lasts = at - now + owed / count
