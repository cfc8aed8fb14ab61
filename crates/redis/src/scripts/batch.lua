-- Any hits: all enforced ones are charged, or none; and then each shadow hit that fits. All is read before anything is
-- written. What most calls ask is answered in a shorter way by `charge.lua` and `few.lua`.
--
-- An argument is a key's limit, with the sum of the enforced costs. After it come shadow costs (1, and the cost), in the order
-- of the hits, and costs that are asked about only (2, and the cost).

---- main
local granted, tells, takes, afters, lives = true, {''}, {}, {}, {}
local tag, cost, capacity, rest, state, at, room, after, lasts, told
--> numbers
for index, key in ipairs(KEYS) do
  local argument = ARGV[index]
  rest = 1
  --> kind
  --> limit
  --> read
  --> standing
  local most, amount, asked = capacity, cost
  --> room
  if cost > room then
    granted = false
    --> renewed
    asked = cost
    if asked <= capacity then
      --> asked
    end
  end
  while rest < #argument do
    local what, shadow
    what, shadow, rest = unpack('>BI7', argument, rest)
    if what == 1 and amount + shadow <= room then
      amount = amount + shadow
    elseif what == 1 and amount > 0 then
      -- Left out: it waits for a key that has been charged with the rest.
      asked = amount + shadow
      if asked > room and asked <= capacity then
        --> asked
      end
    end
    asked = shadow
    if asked > room and asked <= capacity then
      --> asked
    end
  end
  --> told
  tells[index * 2] = pack('>I4I7', #told, amount)
  tells[index * 2 + 1] = told
  takes[index] = amount
  if cost <= room and amount > 0 then
    --> charged
    --> change
    afters[index], lives[index] = after, lasts
  end
end
--> commit
tells[1] = pack('>I7', granted and now * 2 + 1 or now * 2)
return table.concat(tells)

---- commit
if granted then
  for index, key in ipairs(KEYS) do
    local amount = takes[index]
    after, lasts = afters[index], lives[index]
    if after then
      call('SET', key, after, 'PX', format(lasts < NEAR and '%d' or '%.0f', lasts / 1000 + SLACK))
    elseif amount > 0 then
      local argument = ARGV[index]
      rest = 1
      --> again
    end
  end
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
