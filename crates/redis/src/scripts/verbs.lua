-- The verbs that are not a plain charge: as much as fits, a cost after the fact, a refund. One key each.

---- main
local index, key, argument, rest = 1, KEYS[1], ARGV[1], 1
local tag, cost, capacity, state, at, room, after, lasts, told
--> numbers
--> limit
--> read
--> standing
local verb, receipt_at, receipt_cost, part = unpack('>BI7I7I7', ARGV[2])
if verb == 3 then
  local changed = false
  --> refunded
  --> told
  if changed then
    --> returned
    --> write
  end
  return pack('>I7I7c0', changed and now * 2 + 1 or now * 2, 0, told)
end
local most = capacity
if verb == 2 then most = capacity * 2 end
--> room
local amount, is_refused = cost, false
if amount > room then
  amount = room
  is_refused = verb == 1 and room == 0
end
if is_refused and capacity > 0 then
  local asked = 1
  --> asked
end
--> told
if amount > 0 then
  --> charged
  --> change
  --> write
end
return pack('>I7I7c0', is_refused and now * 2 or now * 2 + 1, amount, told)
