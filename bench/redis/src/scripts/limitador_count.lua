-- The second of the two calls of limitador 0.14's Redis store: counts, and remembers whose counter it is. Not ours: a peer.
local c = redis.call('incrby', KEYS[1], ARGV[2])
if c == tonumber(ARGV[2]) then
  redis.call('expire', KEYS[1], ARGV[1], 'NX')
  redis.call('sadd', KEYS[2], KEYS[1])
end
return c
