-- The verbs that are not a plain charge: as much as fits, a cost after the fact, a refund. One key each.

---- main
local index, key, argument, rest = 1, KEYS[1], ARGV[1], 1
local verb, receipt_at, receipt_cost, part = unpack('>BI7I7I7', ARGV[2])
local tag, cost, capacity, state, at, room, after, lasts, told
-- Whether a cost joins what is owed under other numbers; and where nobody can say how long that lasts, for how long the key is
-- kept yet.
local joins
--> numbers
--> limit
local is_late = verb == 2 and cost > 0
--> read
--> standing
if verb == 3 then
  local changed, is_void = false, not state or is_other or receipt_at < since * 4096
  if not is_void then
    --> refunded
  end
  --> told
  if changed then
    --> returned
    --> write
  end
  return pack('>I7BI7c0', changed and now * 2 + 1 or now * 2, is_void and 1 or 0, 0, told)
end
local most = capacity
if verb == 2 then most = capacity * 2 end
--> room
local amount, is_refused = cost, false
if amount > room then
  amount = room
  is_refused = verb == 1 and room == 0
end
if is_refused then
  --> renewed
end
if is_refused and capacity > 0 then
  local asked = 1
  --> asked
end
--> told
if amount > 0 then
  --> charged
  --> change
  if joins then
    --> outlives
    if lasts > INSTANT_MAX then lasts = INSTANT_MAX end
  end
  --> write
end
return pack('>I7BI7c0', is_refused and now * 2 or now * 2 + 1, joins and 2 or 0, amount, told)

---- met
-- A cost after the fact, of a charge that was made under numbers which are not in force any more, must not bring them back: it joins
-- what is owed, as it is owed.
if is_late then
  --> joined
end
