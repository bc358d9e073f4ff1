-- Publish some of the boards that a publication left pending. A tick does the same where the publisher died.
-- INCLUDES: lib/site lib/boards
-- KEYS 1: key prefix
-- ARGV 1: site
-- ARGV 2: most boards
-- RETURNS 0: {0, how much is left, 0 at the end}

if not load_site(ARGV[1]) then return {0, 0} end
note_change({name = ARGV[1]})
return {0, apply_boards(ARGV[1], tonumber(ARGV[2]), now_ms())}
