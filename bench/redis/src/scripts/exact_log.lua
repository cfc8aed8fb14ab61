-- A sliding window log in a sorted set, to the microsecond. Not ours: a peer. As `log.lua`, for those who count what happens within a
-- second; two charges of one microsecond are one.
local key = KEYS[1]
local window = tonumber(ARGV[1]) * 1000000
local limit = tonumber(ARGV[2])

local time = redis.call('TIME')
local now = time[1] * 1000000 + time[2]
redis.call('ZREMRANGEBYSCORE', key, 0, string.format('%.0f', now - window))

local count = redis.call('ZCARD', key)
if count < limit then
  local text = string.format('%.0f', now)
  redis.call('ZADD', key, text, text)
  redis.call('EXPIRE', key, ARGV[1])
  return 1
end
return 0
