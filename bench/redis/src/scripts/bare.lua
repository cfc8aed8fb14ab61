-- The least that a limit in Redis takes: the time, and for each key what it holds, read and written with an expiry. Not a limiter: it
-- decides nothing. What a request with several limits takes beside one with one limit cannot be much less than what this takes.
local time = redis.call('TIME')
local now = time[1] * 1000000 + time[2]
for _, key in ipairs(KEYS) do
  redis.call('SET', key, redis.call('GET', key), 'PX', ARGV[1])
end
return now > 0 and 1 or 0
