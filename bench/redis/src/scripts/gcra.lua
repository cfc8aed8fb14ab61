-- GCRA in floating point, after the script that redis-gcra, redis_rate and their copies share. Not ours: a peer.
-- Theirs begins with `redis.replicate_commands()`, which does nothing any more and is left out. The time is the server's in them too.
local key = KEYS[1]
local burst = ARGV[1]
local rate = ARGV[2]
local period = ARGV[3]
local cost = tonumber(ARGV[4])

local emission_interval = period / rate
local increment = emission_interval * cost
local burst_offset = emission_interval * burst

-- From 2017 on, so that seconds with six decimals keep them all.
local time = redis.call('TIME')
local now = (time[1] - 1483228800) + (time[2] / 1000000)

local tat = redis.call('GET', key)
if not tat then
  tat = now
else
  tat = tonumber(tat)
end
tat = math.max(tat, now)

local new_tat = tat + increment
local allow_at = new_tat - burst_offset
local diff = now - allow_at
local remaining = diff / emission_interval

if remaining < 0 then
  local reset_after = tat - now
  local retry_after = diff * -1
  return {0, 0, tostring(retry_after), tostring(reset_after)}
end

local reset_after = new_tat - now
if reset_after > 0 then
  redis.call('SET', key, new_tat, 'EX', math.ceil(reset_after))
end
local retry_after = -1
return {cost, remaining, tostring(retry_after), tostring(reset_after)}
