-- What all states have in common: which bytes are one, and how one is read and written. What it means, each algorithm says.
--
-- After its first byte each has a mark of the numbers that it was charged by last (three bytes of a hash, which the caller
-- sends; debts have their own), and the instant since which there have been no others (five bytes, in steps of 4,096 microseconds, rounded down).
-- So it is known when a key is met under other numbers, and a receipt is good only for what it was given for: if the key was
-- charged by other numbers since, or was lost and began anew, nothing is given back.

---- read
state = pcall('GET', key)

---- other
-- Not a state of this kind. A state of another kind is told apart from what is not ours at all: no script has written it under
-- a name of this kind. Either way the answer is which key it was, and nothing is decided. An error is handed on. An empty string
-- is no state.
if type(state) ~= 'string' then
  if string.find(state.err, 'WRONGTYPE', 1, true) then return -index end
  return state
end
local kind, length = byte(state), #state
-- Of a list only a part is read, and any such part would be as long as a list.
if length == 300 or length == 2064 then length = call('STRLEN', key) end
local is_of_another_kind = (length == 28 and kind == 49)
  or (length == 34 and kind == 49)
  or (length == 30 and kind == 50)
  or (length == 33 and kind == 51)
  or (length >= 34 and length % 14 == 6 and (kind == 52 or kind == 53))
if is_of_another_kind then return -index - ANOTHER_KIND end
if length > 0 then return -index end
state = false

---- renewed
-- Refused, by other numbers than those it was written under: it is kept for as long as ours want it. Otherwise what they refuse
-- would be granted when the time of the others is over. A server that takes no writes refuses all the same. (Nothing else is written
-- then: a server without memory lets a script go on to write that has begun to.)
if is_other then
  --> lasting
  if lasts > 0 then
    if lasts > INSTANT_MAX then lasts = INSTANT_MAX end
    lasts = lasts / 1000 + SLACK
    if call('PTTL', key) < lasts then pcall('PEXPIRE', key, format('%.0f', lasts)) end
  end
end

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
