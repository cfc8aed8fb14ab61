-- A leaky bucket used as a queue by several processes: reserves the next slot of its schedule, or gives the last one back. Twin of `slots.rs`.
--
-- A value is the first byte, the instant of the next slot (7), a fraction of a microsecond (7), and the units of that (7): 1/count.

---- main
local key = KEYS[1]
local verb, burst, count, period, most, given, given_part = unpack('>BI7I7I7I7I7I7', ARGV[1])
local state = pcall('GET', key)
local at, fraction, units = 0, 0, 0
if state and state ~= '' then
  --> foreign
  if #state ~= 22 or byte(state) ~= 55 then return -1 end
  at, fraction, units = unpack('>I7I7I7', state, 2)
  if at > INSTANT_MAX or fraction >= BEYOND or units >= BEYOND then return -1 end
end
--> next
if verb == 1 then
  --> give_back
end
--> reserve

---- next
local instant = fraction > 0 and at + 1 or at
local longest = 0
if burst > 0 then
  local whole = burst * period - 1
  longest = (whole - fmod(whole, count)) / count + 1
end
local rest = fmod(period, count)
local interval = (period - rest) / count

---- reserve
if instant <= now or instant - now > longest + interval + (rest > 0 and 1 or 0) + 3600000000 then
  at, fraction = now, 0
elseif units ~= count then
  at, fraction = instant, 0
end
instant = fraction > 0 and at + 1 or at
if instant > INSTANT_MAX then instant = INSTANT_MAX end
local wait = instant - now
if wait > longest then return pack('>I7BI7', now, 1, wait - longest) end
if wait > most then return pack('>I7BI7', now, 2, wait) end
local slot, part = at, fraction
--> following
call('SET', key, pack('>BI7I7I7', 55, at, fraction, count), 'PX', format('%.0f', (at + 1 - now) / 1000 + SLACK))
return pack('>I7BI7I7', now, 0, slot, part)

---- give_back
local was_at, was_fraction = at, fraction
at, fraction = given, given_part
--> following
if state and state ~= '' and units == count and at == was_at and fraction == was_fraction then
  local lasts = given + 1 - now
  if lasts > 0 then
    call('SET', key, pack('>BI7I7I7', 55, given, given_part, count), 'PX', format('%.0f', lasts / 1000 + SLACK))
  else
    call('DEL', key)
  end
  return pack('>I7B', now, 1)
end
return pack('>I7B', now, 0)

---- following
-- One interval later.
at, fraction = at + interval, fraction + rest
if fraction >= count then at, fraction = at + 1, fraction - count end
if at > INSTANT_MAX then at = INSTANT_MAX end

---- foreign
-- Not a string. An error is handed on, except for that of a key of another type.
if type(state) ~= 'string' then
  if string.find(state.err, 'WRONGTYPE', 1, true) then return -1 end
  return state
end
