-- luacheck reads each Lua file as redis_functions.py joins it to the others: it knows what its includes export, the
-- names that frontier/wire gives to its arguments, and the head of the library.
std = 'lua51'
max_line_length = 120
read_globals = {
  'redis', 'cjson', 'cmsgpack', 'struct', 'bit', 'KEYS', 'ARGV',
  'WIRE', 'HINTS', 'TIMES_MS', 'AGES_S', 'OUTBOX_MAX', 'FORMAT',
}

local lfs = require('lfs')
local FRONTIER = 'crawl_tasks/frontier/'
local ARGUMENTS = {['request/commit'] = 'CommitFields', ['request/fail'] = 'FailFields'}

local function read(path)
  local file = assert(io.open(FRONTIER .. path))
  local text = file:read('*a')
  file:close()
  return text
end

-- Add the words of some header lines of a file to a list.
local function add_words(list, text, field)
  for line in string.gmatch(text, '%-%- ' .. field .. ': ([^\n]+)') do
    for word in string.gmatch(line, '%S+') do list[#list + 1] = word end
  end
  return list
end

local function add_arguments(list, class)
  local fields = string.match(read('wire/lease_end.py'), 'class ' .. class .. '.-\n\n\n')
  for name in string.gmatch(fields, '\n    ([%w_]+): Annotated') do list[#list + 1] = name end
  list[#list + 1] = 'FIRST'
end

local function options_of(name)
  local text = read('lua/' .. name .. '.lua')
  local own, given = add_words(add_words({}, text, 'EXPORTS'), text, 'SHARES'), {}
  for _, part in ipairs(add_words({}, text, 'INCLUDES')) do
    local included = read('lua/' .. part .. '.lua')
    add_words(given, included, 'EXPORTS')
    if string.match(part, '^%w+/') == string.match(name, '^%w+/') then add_words(given, included, 'SHARES') end
  end
  if ARGUMENTS[name] then add_arguments(own, ARGUMENTS[name]) end
  own[#own + 1] = 'CALL'  -- each file notes in it what the end of the call writes
  if name == 'lib/answers' then own[#own + 1] = 'P' end
  return {globals = own, read_globals = given}
end

for folder in lfs.dir(FRONTIER .. 'lua') do
  for file in lfs.dir(FRONTIER .. 'lua/' .. (folder:match('^%w+$') or '.')) do
    local name = string.match(folder .. '/' .. file, '^(%w+/[%w_]+)%.lua$')
    if name then files[FRONTIER .. 'lua/' .. name .. '.lua'] = options_of(name) end
  end
end
