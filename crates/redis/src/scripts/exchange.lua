-- Permits that several processes share: a process says for some keys what it keeps and what it wants besides, and is told what it has.
-- Twin of `permits/ledger.rs`. The first key is the marker, which says since when there are data: where it is missing, they were lost.
--
-- A value is the first byte, the number of the last permit granted (7), and a record for each process: its id (16), the number of its last
-- request (6), its level (3), what it wants besides (3), and when the record ends (7).

---- main
local argument = ARGV[1]
local id, lease, at = unpack('>c16I7', argument)
-- In a cluster there is none: the key itself stands in its place.
local has_marker = KEYS[1] ~= KEYS[2]
local marker = not has_marker or pcall('GET', KEYS[1])
local recovers = not marker
if marker and has_marker then
  local state, place = marker, 1
  --> foreign
  if #marker ~= 8 or byte(marker) ~= 56 then return -1 end
  local since = unpack('>I7', marker, 2)
  recovers = since <= now and now - since < lease
end
local tells, values, lasts = {}, {}, {}
for place = 2, #KEYS do
  local seq, keep, want, most
  seq, keep, want, most, at = unpack('>I6I3I3I3', argument, at)
  --> records
  --> answer
  tells[place - 1] = pack('>BI3I7I2BI5', result, level, fence, wanting + 1, short and 1 or 0, levels)
end
if not marker then call('SET', KEYS[1], pack('>BI7', 56, now)) end
for place = 2, #KEYS do
  local value = values[place]
  if value == '' then
    call('DEL', KEYS[place])
  elseif value then
    call('SET', KEYS[place], value, 'PX', format('%.0f', lasts[place] / 1000 + SLACK))
  end
end
return pack('>I7B', now, recovers and 1 or 0) .. concat(tells)

---- records
-- Those that have not ended, without this process's own.
local state = pcall('GET', KEYS[place])
local fence, others, count, last = 0, {}, 0, 0
local levels, wanting, least = 0, 0, nil
local own_seq, own_level
if state and state ~= '' then
  --> foreign
  local length = #state
  if byte(state) ~= 54 or length < 43 or length > 8968 or (length - 8) % 35 ~= 0 then return -place end
  fence = unpack('>I7', state, 2)
  if fence >= BEYOND then return -place end
  for from = 9, length, 35 do
    local who, number, has, wish, ends = unpack('>c16I6I3I3I7', state, from)
    local is_late = ends > now + 2 * lease
    if is_late then ends = now + lease end
    if ends > now then
      if who == id then
        own_seq, own_level = number, has
      else
        count = count + 1
        levels = levels + has
        if wish > 0 then
          wanting = wanting + 1
          if not least or has < least then least = has end
        end
        others[count] = is_late and pack('>c16I6I3I3I7', who, number, has, wish, ends) or sub(state, from, from + 34)
        if ends > last then last = ends end
      end
    end
  end
end

---- answer
local contenders = wanting + 1
local short = least and least * contenders < most
local free = most - levels
local result, level = 0, keep
if own_seq and seq <= own_seq then
  result, level = 2, own_level
elseif not own_seq and keep > 0 and not (recovers and keep <= free) then
  result, level = 1, 0
elseif not own_seq and count >= 256 then
  result, level = 3, 0
else
  if not recovers then
    -- An equal part, if another one that wants some has less than that.
    local cap = most
    if short then
      cap = (most - fmod(most, contenders)) / contenders
      if cap < 1 then cap = 1 end
    end
    level = keep + want
    if level > free then level = free end
    if level > cap then level = cap end
    if level < keep then level = keep end
  end
  if not state or state == '' then fence = now end
  fence = fence + level - keep
  if fence >= BEYOND then fence = BEYOND - 1 end
  local unmet = keep + want - level
  if level > 0 or unmet > 0 then
    local ends = now + lease
    others[count + 1] = pack('>c16I6I3I3I7', id, seq, level, unmet, ends)
    if ends > last then last = ends end
    count = count + 1
  end
  if count > 0 then
    values[place] = pack('>BI7', 54, fence) .. concat(others)
    lasts[place] = last - now
  elseif state then
    values[place] = ''
  end
end

---- foreign
-- Not a string. An error is handed on, except for that of a key of another type.
if type(state) ~= 'string' then
  if string.find(state.err, 'WRONGTYPE', 1, true) then return -place end
  return state
end
