-- What every script begins with: the functions that it uses, each looked up once. It decides nothing.

local call, pcall = redis.call, redis.pcall
local pack, unpack = struct.pack, struct.unpack
local byte, sub, format, fmod = string.byte, string.sub, string.format, math.fmod

-- The last instant that is told apart from later ones, and the most units that a quota has: 2^52 - 1.
local INSTANT_MAX = 4503599627370495
-- The longest window: 2^51 - 1.
local WINDOW_MAX = 2251799813685247
-- Every number of a state is below this: 2^53. From here on doubles are not exact.
local BEYOND = 9007199254740992
