-- Drop rejected messages and start entries, or put them back where they came from. One that cannot wait there stays.
-- INCLUDES: lib/site lib/release
-- FLAGS: allow-oom
-- KEYS 1: key prefix
-- ARGV 1: retry or drop
-- ARGV 2: key to which start entries go back
-- ARGV 3..: SHA-1 of each chosen one, none for all
-- RETURNS 0: {0, number dropped or put back, kind of a start key where nothing can wait, or ''}

local wanted, handled, other = {}, 0, nil
for i = 3, #ARGV do wanted[ARGV[i]] = true end

-- Put a rejected one back. Return nil, or the kind of the start key where it cannot wait.
local function put_back(head, content)
  if string.sub(head, 1, 7) == 'start: ' then return put_start(ARGV[2], start_kind(ARGV[2]), 0, content, true) end
  local queue = string.match(head, '^%S+')
  redis.call('LPUSH', queue, content)
  wake(queue)
end

for _, text in ipairs(redis.call('LRANGE', P .. ':refused', 0, CHUNK)) do
  if #ARGV < 3 or wanted[redis.sha1hex(text)] then
    local stays = ARGV[1] == 'retry' and put_back(string.match(text, '^([^\n]*)\n(.*)$'))
    if stays then
      other = stays
    else
      redis.call('LREM', P .. ':refused', 1, text)
      handled = handled + 1
    end
  end
end
return {0, handled, other or ''}
