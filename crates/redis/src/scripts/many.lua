-- Several calls of `charge.lua` as one, each with a key of its own, and an argument of its own unless all have the same: then there
-- is one. They are decided one after the other: what comes back is an answer for each. Not a batch: they are charged each by itself, and may be about the same key.

---- main
local function decide(key, argument)
  local index, rest = 1, 1
  --> decide
end
if #ARGV < #KEYS then
  for place = 2, #KEYS do ARGV[place] = ARGV[1] end
end
local tells = {}
for place = 1, #KEYS do
  local is_well, told = guarded(decide, KEYS[place], ARGV[place])
  if not is_well then
    -- One that fails takes nothing from the others. What it met is a text, or a table with one, depending on the server.
    told = {err = 'ERR Error running script: ' .. tostring(type(told) == 'table' and told.err or told)}
  end
  tells[place] = told
end
return tells
