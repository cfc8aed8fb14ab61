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
-- A day, a week, a month or a year; the span is how far its midnight lies before that of UTC: in minutes, from 18 hours after
-- it; above that, the rule of summer time, if there is one (see `utc_offset.rs`).
local MINUTE, DAY = 60000000, 86400000000
local summer = math.floor(span / 4096)
local offset = (span % 4096 - 1080) * MINUTE
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
local function month_of_day(day)
  -- A month has 30.436875 days on average, so this is off by one at the most.
  local month = divided((day + 719468) * 4800, 146097) + 2
  if first_day_of_month(month) > day then
    month = month - 1
  elseif first_day_of_month(month + 1) <= day then
    month = month + 1
  end
  return month
end
-- When a day begins: without summer time, always as far from UTC.
local function start_of(day) return day * DAY - offset end
if summer > 0 then
  --> summer_time
end
local day = divided(instant + offset, DAY)
if summer > 0 then
  -- Summer time is at most a few hours ahead: the day is this one or a neighbour.
  if start_of(day) > instant then
    day = day - 1
  elseif start_of(day + 1) <= instant then
    day = day + 1
  end
end
local next_day = day + 1
if calendar == 2 then
  -- Day 0 was a Thursday.
  local _, since_monday = divided(day + 3, 7)
  day = day - since_monday
  next_day = day + 7
elseif calendar >= 3 then
  local month = month_of_day(day)
  local months = 1
  if calendar == 4 then
    local _, since_january = divided(month, 12)
    month, months = month - since_january, 12
  end
  day, next_day = first_day_of_month(month), first_day_of_month(month + months)
end
-- What began before the epoch is said to begin at it.
first, next = start_of(day), start_of(next_day)
if first < 0 then first = 0 end
if next < 0 then next = 0 end

---- summer_time
-- A rule has how far summer time is ahead (in half hours from one behind), when it begins and when it ends.
local rule
rule, summer = divided(summer, 8)
local ahead = offset + (summer - 2) * 30 * MINUTE
local ends, begins = divided(rule, 524288)
-- A change is a month, a week, a weekday, and a quarter of an hour from a day before.
local function in_year(change, year)
  local rest, month, week, weekday, quarter
  rest, month = divided(change, 16)
  rest, week = divided(rest, 8)
  quarter, weekday = divided(rest, 8)
  local first = first_day_of_month(year * 12 + month - 1)
  -- Day 0 was a Thursday.
  local _, since = divided(weekday - (first + 4), 7)
  local changes = first + since + 7 * (week - 1)
  if changes >= first_day_of_month(year * 12 + month) then changes = changes - 7 end
  return changes * DAY + (quarter - 96) * 15 * MINUTE
end
local function offset_at(utc)
  local year = divided(month_of_day(divided(utc + offset, DAY)), 12)
  local from, to = in_year(begins, year) - offset, in_year(ends, year) - ahead
  local is_summer
  if from < to then
    is_summer = from <= utc and utc < to
  else
    is_summer = utc < to or from <= utc
  end
  if is_summer then return ahead end
  return offset
end
-- The first time that clocks show midnight, or, if they do not, when they are put past it.
function start_of(day)
  local by_winter, by_summer = day * DAY - offset, day * DAY - ahead
  local in_winter, in_summer = offset_at(by_winter) == offset, offset_at(by_summer) == ahead
  if in_winter == in_summer then
    if in_winter then return math.min(by_winter, by_summer) end
    return math.max(by_winter, by_summer)
  end
  if in_winter then return by_winter end
  return by_summer
end
