-- The counts of two windows, the older one weighted: the twin of `sliding_window.rs`. Not exact about the true window.
--
-- A state is 33 bytes: what it is, by whose numbers and since when, where the current window begins and ends, and what was used
-- of the one before and of it.

---- numbers
local window, next_window, mark, since, by, is_other, start, finish, previous, current

---- limit
tag, cost, capacity, window, mark, rest = unpack('>BI7I7I7I3', argument, rest)

---- standing
at = now
since = now / 4096
is_other = false
next_window = window
local is_over, from, ended = true
if state and (#state ~= 33 or byte(state) ~= tag) then
  --> other
elseif state then
  local _
  _, by, from, start, finish, previous, current = unpack('>BI3I5I7I7I5I5', state)
  local length = finish - start
  if start > INSTANT_MAX or length <= 0 or length > WINDOW_MAX then return -index end
  -- Twice the largest limit of this kind.
  if previous >= 8589934592 or current >= 8589934592 then return -index end
  if start > now then at = start end
  if at - now <= length then
    if by == mark then
      since = from
    else
      is_other = true
      --> unlike
    end
    ended = finish
    if at < finish then
      is_over = false
    elseif current > 0 and at < finish + next_window then
      start, finish, previous, current = finish, finish + next_window, current, 0
      is_over = false
    end
    if is_other then
      --> met
    end
  end
end
if is_over then
  is_other = false
  at, start, previous, current = now, now - fmod(now, window), 0, 0
  finish = start + window
end

---- unlike
-- The next window of those who count is taken to be as long as this one.
if is_late then next_window = length end

---- lasting
lasts = finish - now
if current > 0 then lasts = lasts + window end

---- joined
-- If it is over by that, whether it is, they know who count it: a cost that joins it does not end it.
if is_over then previous, is_over = 0, false end
mark, since, joins = by, from, call('PTTL', key)

---- outlives
-- At least as long as it was, and as much longer as it has gone on. If nothing says how long that is, the next charge will.
lasts = joins < 0 and INSTANT_MAX
  or math.max((joins - SLACK) * 1000 + finish - ended, finish - now + window, finish - now + finish - start, 0)

---- room
room = most - current
if previous > 0 then
  -- The window's length in equal steps, 2^20 of them at the most (the last may be shorter).
  local length = finish - start
  local short = fmod(length, 1048576)
  local step = (length - short) / 1048576
  if short > 0 then step = step + 1 end
  short = fmod(length, step)
  local steps = (length - short) / step
  if short > 0 then steps = steps + 1 end
  local elapsed = at - start
  elapsed = (elapsed - fmod(elapsed, step)) / step
  local weighted = previous * (steps - elapsed)
  short = fmod(weighted, steps)
  room = room - (weighted - short) / steps
  if short > 0 then room = room - 1 end
end
if room < 0 then room = 0 end

---- charged
current = current + amount

---- refunded
if start <= receipt_at and receipt_at < finish then
  changed = part > 0 and current > 0
  current = current - part
  if current < 0 then current = 0 end
elseif start - window <= receipt_at and receipt_at < start then
  changed = part > 0 and previous > 0
  previous = previous - part
  if previous < 0 then previous = 0 end
end

---- change
after = (previous > 0 or current > 0) and pack('>BI3I5I7I7I5I5', tag, mark, since, start, finish, previous, current)
--> lasting
