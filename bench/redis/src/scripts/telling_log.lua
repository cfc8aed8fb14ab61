-- A sliding window log in a sorted set that answers what a client is told: granted or not, what remains, how long to wait, and when
-- all is as new. Not ours: a peer, written as people write it. To the microsecond, and each charge has a name of its own.
local key = KEYS[1]
local window = tonumber(ARGV[1]) * 1000000
local limit = tonumber(ARGV[2])

local time = redis.call('TIME')
local now = time[1] * 1000000 + time[2]
redis.call('ZREMRANGEBYSCORE', key, 0, now - window)

local count = redis.call('ZCARD', key)
if count < limit then
  redis.call('ZADD', key, now, time[1] .. time[2] .. ':' .. count)
  redis.call('EXPIRE', key, ARGV[1])
  return {1, limit - count - 1, 0, window}
end
local oldest = redis.call('ZRANGE', key, 0, 0, 'WITHSCORES')
local newest = redis.call('ZRANGE', key, -1, -1, 'WITHSCORES')
return {0, 0, oldest[2] + window - now, newest[2] + window - now}
