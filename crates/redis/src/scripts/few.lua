-- A few keys with enforced hits only: all are charged, or none. All is read before anything is written. It is written out for
-- each key, `@` being its number, because a table costs more than what stands in it; so does copying a number, which is why names of
-- what each key has for itself have its number, too. Any hits at all are `batch.lua`.

---- main
local keys, granted, argument, rest = KEYS, true, ARGV[1], 1
local tag, cost, capacity, at, room
--> numbers
--> limits
--> each
if granted then
  --> commit
end
--> tell

---- each
local key@, begins@, state@, told@, after@, lasts@ = keys[@]
do
  local index = @
  --> kind
  --> limit
  --> read
  --> standing
  if cost > 0 then
    --> fits
    if granted then
      local amount = cost
      --> charged
      --> change
    end
  end
  --> told
end

---- refused
granted = false
--> renewed
if cost <= capacity then
  local asked = cost
  --> asked
end

---- commit
if after@ then
  call('SET', key@, after@, 'PX', format(lasts@ < NEAR and '%d' or '%.0f', lasts@ / 1000 + SLACK))
  --> again
end

---- again
-- A list that is changed in place: where it stands is worked out again.
else
  local index = @
  --> back
  --> limit
  if cost > 0 then
    local amount = cost
    --> read
    --> standing
    --> charged
    --> change
    --> write
  end

---- kind
begins@ = rest
tag = byte(argument, rest)

---- back
rest = begins@
tag = byte(argument, rest)

---- tell
-- How many bytes are told of each key, and then all of them. Of a list no more than two entries matter here: that is not 256 bytes.
return pack('>I7@(B)', granted and now * 2 + 1 or now * 2@(, #told@))@( .. told@)
