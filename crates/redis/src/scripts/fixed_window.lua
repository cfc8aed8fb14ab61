-- A count of a window of the clock or the calendar: the twin of `fixed_window.rs`. Which windows there are is `window.lua`.
--
-- A state is 30 bytes: what it is, by whose numbers and since when, where its window begins and ends, and what was used of it.

---- numbers
local calendar, span, mark, since, by, is_other, start, finish, used

---- limit
tag, cost, capacity, calendar, span, mark, rest = unpack('>BI7I7BI7I3', argument, rest)

---- standing
at = now
since = now / 4096
is_other = false
local is_over, over = true, 0
if state and (#state ~= 30 or byte(state) ~= tag) then
  --> other
elseif state then
  local _, from
  _, by, from, start, finish, used = unpack('>BI3I5I7I7I7', state)
  local length = finish - start
  if start > INSTANT_MAX or length <= 0 or length > WINDOW_MAX or used >= BEYOND then return -index end
  if start > now then at = start end
  is_over = at >= finish or at - now > length
  is_other = by ~= mark
  if not is_other and at - now <= length then since = from end
  over = finish
end
if is_over then
  at = now
  local instant, first, next = now
  --> bounds
  start, finish, used = first, next, 0
  -- A window that kept its end when the numbers changed may reach into this one: what was charged then is not in it.
  if over <= now and over > start then start = over end
end

---- room
room = most - used
if room < 0 then room = 0 end

---- charged
used = used + amount

---- lasting
-- A window ends when it ends, by whatever numbers it is met.
lasts = 0

---- outlives

---- refunded
local back = part
if back > used then back = used end
if start <= receipt_at and receipt_at < finish and back > 0 then used, changed = used - back, true end

---- change
after = pack('>BI3I5I7I7I7', tag, mark, since, start, finish, used)
lasts = finish - now
if used == 0 then
  -- A window that began late, because the one before it kept its end, remembers that.
  local instant, first, next = start
  --> bounds
  if first == start then after = false end
end
