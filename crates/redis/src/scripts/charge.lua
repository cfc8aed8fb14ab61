-- One hit on one key: the shortest way. Several hits are `batch.lua`, several such calls `many.lua`, other verbs `verbs.lua`.

---- main
local index, key, argument, rest = 1, KEYS[1], ARGV[1], 1
--> decide

---- decide
local tag, cost, capacity, state, at, room, after, lasts, told
--> numbers
--> limit
--> read
--> standing
if cost > 0 then
  --> fits
  local amount = cost
  --> charged
  --> change
  --> write
end
local head = now * 2 + 1
--> answer

---- refused
--> renewed
if cost <= capacity then
  local asked = cost
  --> asked
end
local head = now * 2
--> answer
