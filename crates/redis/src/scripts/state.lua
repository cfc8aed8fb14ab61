-- What all states have in common: which bytes are one, and how one is read and written. What it means, each algorithm says.

---- read
state = pcall('GET', key)

---- other
-- Not a state of this algorithm. One of another algorithm counts as none. Anything else is not ours, and the answer is
-- which key it was; or it is an error, and is handed on.
if type(state) ~= 'string' then
  if string.find(state.err, 'WRONGTYPE', 1, true) then return -index end
  return state
end
local kind, length = byte(state), #state
-- Of a list only a part is read, and any such part would be as long as a list.
if length == 292 or length == 2056 then length = call('STRLEN', key) end
local is_ours = length == 0
  or (length == 20 and kind >= 17 and kind <= 19)
  or (length == 22 and kind >= 17 and kind <= 20)
  or (length == 25 and kind == 21)
  or (length > 25 and length % 14 == 12 and (kind == 22 or kind == 23))
if not is_ours then return -index end
state = false

---- fits
-- Whether the cost does. It is not nothing.
local most = capacity
--> room
if cost > room then
  --> refused
end

---- told
told = state or ''

---- answer
return pack('>I7c0', head, state or '')

---- asked

---- returned
--> change

---- write
-- The time to live is garbage collection only. It is set with every write, so that a key that has lost it is mended.
if after then
  call('SET', key, after, 'PX', format(lasts < NEAR and '%d' or '%.0f', lasts / 1000 + SLACK))
else
  call('DEL', key)
end
