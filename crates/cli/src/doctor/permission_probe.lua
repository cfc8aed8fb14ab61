-- Tries every command that a script of ours may call, on one key of its own, and says what became of each. It decides nothing.
local key = KEYS[1]
local tried = {
  {'GET', key},
  {'SET', key, 'tollgate doctor', 'PX', '1000'},
  {'STRLEN', key},
  {'GETRANGE', key, '0', '0'},
  {'SETRANGE', key, '0', 'T'},
  {'PTTL', key},
  {'PEXPIRE', key, '1000'},
  {'TIME'},
  {'DEL', key},
}
local said = {}
for place, words in ipairs(tried) do
  local answer = redis.pcall(unpack(words))
  said[place] = type(answer) == 'table' and answer.err or ''
end
return said
