-- Find the requests that the guard does not know. A rolling guard forgets, so that its stages have none.
-- INCLUDES: lib/site guard/guard
-- FLAGS: no-writes
-- KEYS 1: key prefix
-- ARGV 1: site
-- ARGV 2..: lines
-- RETURNS 0: {0, place of an unknown line among the lines, from 0, ...}
-- RETURNS -1: the site is not published

local site = load_site(ARGV[1])
if not site then return {-1} end

local now, unknown = now_ms(), {}
for i = 2, #ARGV do
  local word, stage = string.match(ARGV[i], WIRE.line.word_stage)
  local forgets = site.terms.guard[stage] == 'rolling'
  if not forgets and not guard_holds(site, stage, word, now) then unknown[#unknown + 1] = i - 2 end
end
return {0, unpack(unknown)}
