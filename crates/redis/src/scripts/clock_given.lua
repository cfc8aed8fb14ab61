-- The time, from the last argument: for tests that play a trace at instants of their own. It never ships.

local now = unpack('>I7', ARGV[#ARGV])
if now > INSTANT_MAX then now = INSTANT_MAX end

-- By how many milliseconds a key outlives its state: an hour, because a test's time is not the server's.
local SLACK = 3600000
