-- A debt that drains: the twin of `debt.rs`, for the token bucket, the leaky bucket and GCRA. Not an algorithm to choose.
--
-- One cell of cost is `period` units, and `count` units drain each microsecond. A state is 20 bytes: which of the three it
-- is, when it was written, what was owed then, and the period it was written in. A period of 2^40 and more takes two bytes
-- more. (With 22 bytes, Redis takes eight more for each key.)

---- numbers
local count, period, owed

---- limit
tag, cost, capacity, count, period, rest = unpack('>BI7I7I7I7', argument, rest)

---- standing
-- One assignment each: two at once take twice the time.
at = now
owed = 0
local kind, written, debt, units
if state and #state == 20 then
  kind, written, debt, units = unpack('>BI7I7I5', state)
elseif state and #state == 22 then
  kind, written, debt, units = unpack('>BI7I7I7', state)
  if kind == tag and (units < 1099511627776 or units > INSTANT_MAX) then return -index end
end
if state and kind ~= tag then
  --> other
elseif state then
  if debt >= BEYOND or units == 0 then return -index end
  if written > now then
    if written > INSTANT_MAX then return -index end
    local burst = capacity * period
    local over = fmod(burst, count)
    local drain = (burst - over) / count
    if over > 0 then drain = drain + 1 end
    if written - now <= drain then
      at = written
    else
      written, debt = now, 0
    end
  end
  if units == period then
    -- A product that is too large to be exact is larger than any debt all the same.
    local drained = (at - written) * count
    if drained < debt then owed = debt - drained end
  else
    --> converted_after
  end
end

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
  owed = BEYOND
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
-- If the clock went back so far that the charge was forgotten, what is owed now is owed for something else. And if the key was
-- charged under another period since, more may have drained by that one than by the receipt's, and been spent again.
if receipt_at <= at and units == period then
  -- What has drained since the charge has been given back already.
  local weighs = receipt_cost * period - (at - receipt_at) * count
  if weighs > owed then weighs = owed end
  if weighs > part * period then weighs = part * period end
  if weighs > 0 then owed, changed = owed - weighs, true end
end

---- change
after = owed > 0 and pack(period < 1099511627776 and '>BI7I7I5' or '>BI7I7I7', tag, at, owed, period)
lasts = at - now + owed / count
