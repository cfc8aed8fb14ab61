-- A few keys with enforced hits only: all are charged, or none. All is read before anything is written. It is written out for
-- each key, `@` being its number, because a table costs more than what stands in it. Any hits at all are `batch.lua`.

---- main
local granted, argument, rest = true, ARGV[1], 1
local tag, cost, capacity, state, at, room, after, lasts
--> numbers
--> each
if granted then
  --> commit
end
return pack('>I7@(I2c0)', granted and now * 2 + 1 or now * 2@(, #told@, told@))

---- each
local told@, since@, take@, after@, lasts@
do
  local index, key, told = @, KEYS[@]
  since@ = rest
  --> kind
  --> limit
  --> read
  --> standing
  local fits
  --> fits
  if not fits then
    granted = false
    if cost <= capacity then
      local asked = cost
      --> asked
    end
  end
  --> told
  told@, take@ = told, cost
  if granted and cost > 0 then
    local amount = cost
    --> charged
    --> change
    after@, lasts@ = after, lasts
  end
end

---- commit
if after@ then
  call('SET', KEYS[@], after@, 'PX', format(lasts@ < NEAR and '%d' or '%.0f', lasts@ / 1000 + SLACK))
elseif take@ > 0 then
  local index, key, amount = @, KEYS[@], take@
  rest = since@
  --> again
end

---- again
-- A list that is changed in place: where it stands is worked out again.
--> kind
--> limit
--> read
--> standing
--> charged
--> change
--> write

---- kind
tag = byte(argument, rest)
