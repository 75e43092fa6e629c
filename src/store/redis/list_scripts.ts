/**
 * What lists and watches of the Redis adapter read, as Lua: one call instead of a command for each shard. On a cluster,
 * the keys of a call are in one slot; on one server they may be in any.
 */
import { ACTOR_FIELD, SHARD_KEY } from "./keys.ts";
import { defineScript } from "./script.ts";

/**
 * Ranges of sorted sets from the highest score down, ties by member descending.
 *
 * KEYS  1 first sorted set
 * ARGV  for each set: its key, score and member to begin after ('' = from the top; the member need not exist), number of
 *       entries
 * Returns  for each set {entries from there to the end, {member, score, …}}
 */
export const SCAN_DOWN = defineScript(`
-- Lua compares strings by the locale, the sorted set by bytes.
local function is_before(a, b)
  for i = 1, math.min(#a, #b) do
    local x, y = string.byte(a, i), string.byte(b, i)
    if x ~= y then return x > y end
  end
  return #a > #b
end

local function rank_after(key, score, member)
  local stored = redis.call('ZSCORE', key, member)
  if stored and tonumber(stored) == tonumber(score) then
    return redis.call('ZREVRANK', key, member) + 1
  end
  local start = redis.call('ZCOUNT', key, '(' .. score, '+inf')
  local last = start + redis.call('ZCOUNT', key, score, score)
  while start < last do
    local middle = math.floor((start + last) / 2)
    if is_before(redis.call('ZREVRANGE', key, middle, middle)[1], member) then
      start = middle + 1
    else
      last = middle
    end
  end
  return start
end

local found = {}
for at = 1, #ARGV, 4 do
  local key, score, count = ARGV[at], ARGV[at + 1], tonumber(ARGV[at + 3])
  local start, entries = 0, {}
  if score ~= '' then start = rank_after(key, score, ARGV[at + 2]) end
  if count > 0 then entries = redis.call('ZREVRANGE', key, start, start + count - 1, 'WITHSCORES') end
  found[#found + 1] = {redis.call('ZCARD', key) - start, entries}
end
return found
`);

/**
 * Numbers of entries of sorted sets, or of fields of hashes.
 *
 * KEYS  1 first key
 * ARGV  1 ZCARD or HLEN, then keys of sorted sets or hashes
 * Returns  for each its number of entries or fields
 */
export const COUNT_ENTRIES = defineScript(`
local counts = {}
for i = 2, #ARGV do counts[i - 1] = redis.call(ARGV[1], ARGV[i]) end
return counts
`);

/**
 * Numbers of entries of sorted sets between scores.
 *
 * KEYS  1 first sorted set
 * ARGV  1 how many bounds follow, then the bounds, then keys of sorted sets
 * Returns  for each set {lowest score, entries from one bound up to the next, …}; {} for an empty set
 */
export const COUNT_SPANS = defineScript(`
local size = tonumber(ARGV[1])
local found = {}
for at = 2 + size, #ARGV do
  local key, counts = ARGV[at], {}
  local lowest = redis.call('ZRANGE', key, 0, 0, 'WITHSCORES')[2]
  if lowest then
    counts[1] = lowest
    for i = 2, size do
      -- Nothing lies before the lowest score.
      local is_before = tonumber(ARGV[1 + i]) <= tonumber(lowest)
      counts[i] = is_before and 0 or redis.call('ZCOUNT', key, ARGV[i], '(' .. ARGV[1 + i])
    end
  end
  found[#found + 1] = counts
end
return found
`);

/**
 * The value that each of several keys has for one name.
 *
 * KEYS  1 first key
 * ARGV  1 HGET or ZSCORE, 2 field or member, then keys of hashes or sorted sets
 * Returns  for each key the value or score, nil if there is none
 */
export const FIND = defineScript(`
local found = {}
for i = 3, #ARGV do found[i - 2] = redis.call(ARGV[1], ARGV[i], ARGV[2]) end
return found
`);

/**
 * Fields of actors.
 *
 * KEYS  1 first actor
 * ARGV  1 'others' for the named fields and those that the actor lists as its other parts, '' for the named ones only,
 *       2 how many names follow, then the names, then keys of actors
 * Returns  for each actor its fields and values, nil for a missing field
 */
export const READ_FIELDS = defineScript(`
local mode, size = ARGV[1], tonumber(ARGV[2])
local names = {}
for i = 1, size do names[i] = ARGV[2 + i] end

local function read(key, names, into)
  local values = redis.call('HMGET', key, unpack(names))
  for i, name in ipairs(names) do
    into[#into + 1] = name
    into[#into + 1] = values[i]
  end
end

local actors = {}
for at = 3 + size, #ARGV do
  local fields = {}
  read(ARGV[at], names, fields)
  local others = mode == 'others' and redis.call('HGET', ARGV[at], '${ACTOR_FIELD.others}')
  if others and others ~= '' then
    local keys = {}
    for key in string.gmatch(others, '[^\\n]+') do keys[#keys + 1] = key end
    read(ARGV[at], keys, fields)
  end
  actors[#actors + 1] = fields
end
return actors
`);

/**
 * The changes of one actor in the feed of its shard.
 *
 * KEYS  1 base of the shard
 * ARGV  1 version after which, 2 actor id
 * Returns  {highest version that was trimmed, entries of the stream before that, entries after it}, oldest first. Those
 *          before go back to the creation of the actor; there are none if all after have their earlier texts.
 */
export const READ_HISTORY = defineScript(`
local feed, id = KEYS[1] .. '${SHARD_KEY.feed}', ARGV[2]
local before, after, lacks = {}, {}, false
for _, entry in ipairs(redis.call('XRANGE', feed, '(' .. ARGV[1] .. '-0', '+')) do
  -- Type and actor are the first two fields; the third one says whether earlier texts are there.
  if entry[2][4] == id then
    after[#after + 1] = entry
    lacks = lacks or entry[2][2] == 'M' and entry[2][5] ~= 'c'
  end
end
local to = ARGV[1] .. '-0'
while lacks do
  local entries = redis.call('XREVRANGE', feed, to, '-', 'COUNT', 200)
  if #entries == 0 then break end
  for _, entry in ipairs(entries) do
    if entry[2][4] == id then
      table.insert(before, 1, entry)
      lacks = lacks and entry[2][2] ~= 'A'
    end
    if not lacks then break end
  end
  to = '(' .. entries[#entries][1]
end
return {redis.call('HGET', KEYS[1] .. '${SHARD_KEY.meta}', 'floor') or '0', before, after}
`);
