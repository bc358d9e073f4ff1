-- Drop rejected messages and start entries, or put them back where they came from.
-- FLAGS: allow-oom
-- KEYS 1: key prefix
-- ARGV 1: retry or drop
-- ARGV 2: key to which start entries go back
-- ARGV 3..: SHA-1 of each chosen one, none for all
-- RETURNS 0: {0, number dropped or put back}

local wanted, handled = {}, 0
for i = 3, #ARGV do wanted[ARGV[i]] = true end

local function put_back(head, content)
  if string.sub(head, 1, 7) ~= 'start: ' then
    local queue = string.match(head, '^%S+')
    redis.call('LPUSH', queue, content)
    wake(queue)
    return
  end
  put_start(ARGV[2], start_kind(ARGV[2]), 0, content, true)
end

for _, text in ipairs(redis.call('LRANGE', P .. ':refused', 0, CHUNK)) do
  if #ARGV < 3 or wanted[redis.sha1hex(text)] then
    redis.call('LREM', P .. ':refused', 1, text)
    if ARGV[1] == 'retry' then put_back(string.match(text, '^([^\n]*)\n(.*)$')) end
    handled = handled + 1
  end
end
return {0, handled}
