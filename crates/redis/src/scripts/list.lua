-- What was granted when, as a list: the twin of `list.rs`, for the log and the conservative buckets. Not a history.
--
-- A state is a string of 20 bytes (what it is, by whose numbers and since when, how many of its entries are gone, the running
-- total before the first that is not) and an entry of 14 bytes for each bucket: when it was last charged, and the running total through it. Totals go round
-- at 2^53; only their differences mean something, and those are below 2^53. A list that fits in one read is written anew by
-- each charge, without what has expired. A longer one is changed in place, and written anew when half of it is gone.

---- numbers
local window, reach, bucket, entries_max, mark, since, by, is_other
local length, slots, gone, newest, through, expired, used, total, merges, added, found, waits
-- The first entry that counts, and the running total through it, if it has been looked at.
local eldest, sum_to_eldest

---- limit
tag, cost, capacity, window, bucket, entries_max, mark, rest = unpack('>BI7I7I7I7I4I3', argument, rest)

---- read
-- The first 146 entries, if there are never more: that is all of them. If there may be, the first 20: every byte that comes into
-- Lua is collected again, and to read 126 entries takes longer than to ask twice more.
state = pcall('GETRANGE', key, '0', (capacity <= 146 or entries_max <= 146) and '2063' or '299')

---- searching
-- An entry's time, and the running total through it.
local function entry(position)
  local place = 20 + position * 14
  if place + 14 <= #state then return unpack('>I7I7', state, place + 1) end
  return unpack('>I7I7', call('GETRANGE', key, format('%.0f', place), format('%.0f', place + 13)))
end
-- The first entry, at or after `from`, for which it holds; it holds for all after that one. It looks ahead in doubling steps
-- and then bisects, so an answer near `from` is found at once.
local function first(from, holds)
  if from >= slots or holds(entry(from)) then return from end
  local low, step = from + 1, 1
  local high
  while not high do
    local probe = low + step - 1
    if probe >= slots then
      high = slots
    elseif holds(entry(probe)) then
      high = probe
    else
      low, step = probe + 1, step * 2
    end
  end
  while low < high do
    local middle = (low + high - (low + high) % 2) / 2
    if holds(entry(middle)) then high = middle else low = middle + 1 end
  end
  return low
end

---- standing
at, slots, gone, newest, through, expired, used, total = now, 0, 0, false, 0, 0, 0, 0
length, waits, eldest = 0, false, false
since = now / 4096
is_other = false
reach = window
local kind, from
if state and #state >= 34 and #state % 14 == 6 then
  kind, by, from, gone, total, eldest, sum_to_eldest = unpack('>BI3I5I4I7I7I7', state)
end
if state and kind ~= tag then
  --> other
  gone, total, eldest = 0, 0, false
elseif state then
  length = #state
  if length == 300 or length == 2064 then
    -- There may be more.
    length = call('STRLEN', key)
    newest, through = unpack('>I7I7', call('GETRANGE', key, '-14', '-1'))
  else
    newest, through = unpack('>I7I7', state, length - 13)
  end
  slots = (length - 20) / 14
  if length % 14 ~= 6 or gone >= slots or total >= BEYOND then return -index end
  if newest > INSTANT_MAX or through >= BEYOND then return -index end
  expired = gone
  if by ~= mark then
    is_other = true
    --> unlike
  end
  if newest - now > window then
    -- More than a window ahead: none of it counts, and all of it goes with the next charge.
    expired = slots
  else
    if by == mark then since = from end
    if newest > now then at = newest end
    if gone > 0 or eldest + reach <= at then
      --> expiring
    end
    used = through - total
    if used < 0 then used = used + BEYOND end
    if expired == slots then newest = false end
  end
  if expired == slots then
    is_other = false
  elseif is_other then
    --> met
  end
end

---- unlike
-- What others count for longer than we do is not forgotten when a cost joins it, nor does it merge with what they tell apart.
if is_late then reach, bucket, entries_max = WINDOW_MAX, 1, tag == 52 and 2048 or 4294967295 end

---- lasting
lasts = newest + window - now

---- joined
mark, since, joins = by, from, call('PTTL', key)
-- A bucket may have two entries then, and a receipt would be taken for a part of the younger one: those that there are are void.
if tag == 52 then
  since = math.min(now / 4096 + 1, 1099511627775)
  -- What it begins with is written anew.
  by = false
end

---- outlives
-- As long as it was, and as much longer as the last entry is younger; a millisecond is for rounding, which many such costs would
-- add up. If nothing says how long it was, the next charge will.
lasts = joins < 0 and INSTANT_MAX or math.max((joins - SLACK) * 1000 + 1000 + at - newest, lasts)

---- expiring
if gone == 0 then expired, total = 1, sum_to_eldest end
eldest = false
-- Mostly it is one of the next few that counts.
local place, last = 21 + expired * 14, 21 + (expired + 3) * 14
while place <= last and place + 13 <= #state do
  local time, sum = unpack('>I7I7', state, place)
  if time + reach > at then
    eldest, sum_to_eldest = time, sum
    break
  end
  expired, total, place = expired + 1, sum, place + 14
end
if not eldest and expired < slots then
  --> searching
  local from, _ = expired
  expired = first(from, function(time) return time + reach > at end)
  if expired > from then _, total = entry(expired - 1) end
end
-- It would be written as where the list begins, and nobody could read that.
if total >= BEYOND then return -index end

---- room
room = most - used
if room < 0 then room = 0 end

---- fits
if used + cost > capacity then
  --> refused
end

---- asked
-- A cost that does not fit now: the entry with which enough expires is told, so that the wait can be told.
if expired < slots then
  local excess, position = used - (capacity - asked)
  if eldest then
    local sum = sum_to_eldest - total
    if sum < 0 then sum = sum + BEYOND end
    if sum >= excess then position = expired end
  end
  if not position then
    --> searching
    position = first(expired, function(_, sum)
      sum = sum - total
      if sum < 0 then sum = sum + BEYOND end
      return sum >= excess
    end)
  end
  if not waits then
    waits = position
  elseif type(waits) == 'number' then
    waits = {waits, position}
  else
    waits[#waits + 1] = position
  end
end

---- told
-- The list in short: how many entries count, and as many of them as matter for the answer, each with all that came before it.
if not state or (expired == slots and not newest) then
  told = ''
elseif not waits then
  told = pack('>BI4I7I7', tag, slots - expired, newest, used)
else
  --> searching
  if type(waits) == 'number' then waits = {waits} end
  table.sort(waits)
  told = pack('>BI4', tag, slots - expired)
  local last, summed = -1, 0
  for _, position in ipairs(waits) do
    if position > last and position < slots - 1 then
      local time, sum = entry(position)
      sum = sum - total
      if sum < 0 then sum = sum + BEYOND end
      told = told .. pack('>I7I7', time, sum - summed)
      last, summed = position, sum
    end
  end
  told = told .. pack('>I7I7', newest, used - summed)
end

---- answer
-- What is told mostly, in one step.
if newest and not waits then
  return pack('>I7BI4I7I7', head, tag, slots - expired, newest, used)
end
if waits == expired and eldest and expired < slots - 1 then
  local sum = sum_to_eldest - total
  if sum < 0 then sum = sum + BEYOND end
  return pack('>I7BI4I7I7I7I7', head, tag, slots - expired, eldest, sum, newest, used - sum)
end
--> told
return pack('>I7c0', head, told)

---- charged
-- Charges of one bucket merge, and so do those beyond the number of entries that there may be.
local counts = expired < slots and newest
merges = counts
  and (slots - expired >= entries_max
    or newest == at
    or (bucket > 1 and newest - fmod(newest, bucket) == at - fmod(at, bucket)))
added = through - (BEYOND - amount)
if added < 0 then added = through + amount end

---- refunded
if expired < slots then
  --> searching
  local bucket_of_receipt = receipt_at - fmod(receipt_at, bucket)
  -- The newest entry of that bucket: after a change of the limit's numbers there may be older ones.
  found = first(expired, function(time) return time - fmod(time, bucket) > bucket_of_receipt end) - 1
  if found >= expired then
    waits = {found}
    if found > expired then waits = {found - 1, found} end
    local time = entry(found)
    changed = time - fmod(time, bucket) == bucket_of_receipt
  end
end

---- returned
-- Takes from that entry and from every total after it; or, if there are fewer, adds to every total before it, since only
-- differences count. Either way a refund is dearer than a decision.
--> searching
local _, sum = entry(found)
local earlier = total
if found > expired then
  _, earlier = entry(found - 1)
end
local weighs = sum - earlier
if weighs < 0 then weighs = weighs + BEYOND end
local back = part
if back > weighs then back = weighs end
local all = state
if length > #state then all = call('GET', key) end
-- Entries with less in their totals, eight at a time: one by one takes three times as long.
local function lessened(position, finish, less)
  local pieces = {}
  while position + 8 <= finish do
    local a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p =
      unpack('>I7I7I7I7I7I7I7I7I7I7I7I7I7I7I7I7', all, 21 + position * 14)
    pieces[#pieces + 1] = pack('>I7I7I7I7I7I7I7I7I7I7I7I7I7I7I7I7',
      a, (b - less) % BEYOND, c, (d - less) % BEYOND, e, (f - less) % BEYOND, g, (h - less) % BEYOND,
      i, (j - less) % BEYOND, k, (l - less) % BEYOND, m, (n - less) % BEYOND, o, (p - less) % BEYOND)
    position = position + 8
  end
  while position < finish do
    local time, sum = unpack('>I7I7', all, 21 + position * 14)
    pieces[#pieces + 1] = pack('>I7I7', time, (sum - less) % BEYOND)
    position = position + 1
  end
  return table.concat(pieces)
end
-- Nothing is left of an entry of which all is given back.
local rest_from = back < weighs and found or found + 1
local before, rest_of_them
if found - expired < slots - found then
  before = lessened(expired, found, BEYOND - back)
  rest_of_them = sub(all, 21 + rest_from * 14)
  total = (total - (BEYOND - back)) % BEYOND
else
  before = sub(all, 21 + expired * 14, 20 + found * 14)
  rest_of_them = lessened(rest_from, slots, back)
end
after = used > back and pack('>BI3I5I4I7', tag, mark, since, 0, total) .. before .. rest_of_them
if after then lasts = unpack('>I7', after, #after - 13) + window - now end

---- change
lasts = at + window - now
if expired == slots then
  after = pack('>BI3I5I4I7I7I7', tag, mark, since, 0, 0, at, amount)
elseif length > #state then
  after = nil
elseif expired == 0 and not merges and by == mark then
  after = state .. pack('>I7I7', at, added)
else
  local kept = sub(state, 21 + expired * 14, merges and -15 or -1)
  after = pack('>BI3I5I4I7', tag, mark, since, 0, total) .. kept .. pack('>I7I7', at, added)
end

---- write
if after then
  call('SET', key, after, 'PX', format(lasts < NEAR and '%d' or '%.0f', lasts / 1000 + SLACK))
elseif after == false then
  call('DEL', key)
elseif expired * 2 > slots then
  local kept = call('GETRANGE', key, format('%.0f', 20 + expired * 14), merges and '-15' or '-1')
  after = pack('>BI3I5I4I7c0I7I7', tag, mark, since, 0, total, kept, at, added)
  call('SET', key, after, 'PX', format(lasts < NEAR and '%d' or '%.0f', lasts / 1000 + SLACK))
else
  local place = merges and length - 14 or length
  call('SETRANGE', key, format('%.0f', place), pack('>I7I7', at, added))
  if expired > gone or by ~= mark then
    call('SETRANGE', key, '0', pack('>BI3I5I4I7', tag, mark, since, expired, total))
  end
  call('PEXPIRE', key, format(lasts < NEAR and '%d' or '%.0f', lasts / 1000 + SLACK))
end
