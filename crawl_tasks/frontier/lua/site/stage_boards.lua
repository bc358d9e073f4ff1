-- Stage boards of a publication that differ from those of the ledger. No scan reads them before publish.lua ends it.
-- INCLUDES: lib/site lib/boards
-- KEYS 1: key prefix
-- ARGV 1: site
-- ARGV 2: name of the publication
-- ARGV 3: period of full passes, ms
-- ARGV 4..: boards, as boards.lua describes them
-- RETURNS 0: {0, boards that differ}

return {0, stage_boards(ARGV[1], P .. ':s:' .. ARGV[1] .. ':staged:' .. ARGV[2], ARGV, 4, tonumber(ARGV[3]), now_ms())}
