-- The first of the two calls of limitador 0.14's Redis store: what its counters hold, and for how long. Not ours: a peer.
local res = {}
for _, key in ipairs(KEYS) do
    table.insert(res, redis.call('get', key))
    table.insert(res, redis.call('pttl', key))
end
return res
