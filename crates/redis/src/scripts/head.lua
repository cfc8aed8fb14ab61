-- What scripts begin with: the functions and numbers that they use, each looked up once; one to a line, because those that a
-- script does not use are left out. It decides nothing.

-- Lua's own way to meet an error, before its name is taken for that of the server.
local guarded = pcall
local call = redis.call
local pcall = redis.pcall
local pack = struct.pack
local unpack = struct.unpack
local byte = string.byte
local sub = string.sub
local format = string.format
local fmod = math.fmod
local concat = table.concat

-- The last instant that is told apart from later ones, and the most units that a quota has: 2^52 - 1.
local INSTANT_MAX = 4503599627370495
-- The longest window: 2^51 - 1.
local WINDOW_MAX = 2251799813685247
-- Every number of a state is below this: 2^53. From here on doubles are not exact.
local BEYOND = 9007199254740992
-- A life of fewer microseconds than this has milliseconds that a short integer holds anywhere: `%d` writes it in half the time.
local NEAR = 2000000000000
-- What is added to a key's place in the answer that it holds a state of another kind. No call has so many keys.
local ANOTHER_KIND = 65536
