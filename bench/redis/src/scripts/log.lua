-- A sliding window log in a sorted set, as in Redis' own tutorials and their copies. Not ours: a peer. It counts whole seconds, as
-- they do. Where it takes the time from the client, as many do, it needs a name for each entry besides.
local key = KEYS[1]
local window = tonumber(ARGV[1])
local limit = tonumber(ARGV[2])

local time = redis.call('TIME')
redis.call('ZREMRANGEBYSCORE', key, 0, tonumber(time[1]) - window)

local count = redis.call('ZCARD', key)
if count < limit then
  redis.call('ZADD', key, time[1], time[1] .. time[2])
  redis.call('EXPIRE', key, window)
  return 1
end
return 0
