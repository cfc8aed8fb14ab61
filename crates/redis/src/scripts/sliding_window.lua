-- The counts of two windows, the older one weighted: the twin of `sliding_window.rs`. Not exact about the true window.
--
-- A state is 25 bytes: what it is, where the current window begins and ends, and what was used of the one before and of it.

---- numbers
local window, start, finish, previous, current

---- limit
tag, cost, capacity, window, rest = unpack('>BI7I7I7', argument, rest)

---- standing
at = now
local is_over = true
if state and (#state ~= 25 or byte(state) ~= tag) then
  --> other
elseif state then
  local _
  _, start, finish, previous, current = unpack('>BI7I7I5I5', state)
  local length = finish - start
  if start > INSTANT_MAX or length <= 0 or length > WINDOW_MAX then return -index end
  -- Twice the largest limit of this kind.
  if previous >= 8589934592 or current >= 8589934592 then return -index end
  if start > now then at = start end
  if at - now <= length then
    if at < finish then
      is_over = false
    elseif current > 0 and at < finish + window then
      start, finish, previous, current = finish, finish + window, current, 0
      is_over = false
    end
  end
end
if is_over then
  at, start, previous, current = now, now - fmod(now, window), 0, 0
  finish = start + window
end

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
after = (previous > 0 or current > 0) and pack('>BI7I7I5I5', tag, start, finish, previous, current)
lasts = finish - now
if current > 0 then lasts = lasts + window end
