-- The time, from the server's own clock. What ships takes it from nowhere else.

local time = call('TIME')
local now = time[1] * 1000000 + time[2]
if now > INSTANT_MAX then now = INSTANT_MAX end

-- By how many milliseconds a key outlives its state: the one place where that is said. It covers all rounding.
local SLACK = 100
