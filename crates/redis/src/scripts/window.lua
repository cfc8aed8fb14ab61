-- Where a window of the clock or the calendar begins, and where the next one does: the twin of `window.rs`. It counts
-- nothing.

---- bounds
if calendar == 0 then
  first = instant - fmod(instant, span)
  next = first + span
else
  --> calendar
end

---- calendar
-- A day, a week, a month or a year; the span is how far its midnight lies before that of UTC: in minutes, from 18 hours after it.
local MINUTE, DAY = 60000000, 86400000000
local offset = (span - 1080) * MINUTE
-- Rounded down, whatever the sign, and what is left.
local function divided(a, b)
  local left = fmod(a, b)
  if left < 0 then left = left + b end
  return (a - left) / b, left
end
-- The first day of a month that is counted from January of the year 0; day 0 is 1 January 1970.
local function first_day_of_month(month)
  local year, from_march = divided(month - 2, 12)
  local days_before_month = divided(153 * from_march + 2, 5)
  local leap_days = divided(year, 4) - divided(year, 100) + divided(year, 400)
  return year * 365 + leap_days + days_before_month - 719468
end
local day = divided(instant + offset, DAY)
local next_day = day + 1
if calendar == 2 then
  -- Day 0 was a Thursday.
  local _, since_monday = divided(day + 3, 7)
  day = day - since_monday
  next_day = day + 7
elseif calendar >= 3 then
  -- A month has 30.436875 days on average, so this is off by one at the most.
  local month = divided((day + 719468) * 4800, 146097) + 2
  if first_day_of_month(month) > day then
    month = month - 1
  elseif first_day_of_month(month + 1) <= day then
    month = month + 1
  end
  local months = 1
  if calendar == 4 then
    local _, since_january = divided(month, 12)
    month, months = month - since_january, 12
  end
  day, next_day = first_day_of_month(month), first_day_of_month(month + months)
end
-- What began before the epoch is said to begin at it.
first, next = day * DAY - offset, next_day * DAY - offset
if first < 0 then first = 0 end
if next < 0 then next = 0 end
