/**
 * The atomic steps of the Redis adapter for shards, leases, manifests and blobs, as Lua. Those for events are in
 * `events/scripts.ts`, those for lists in `list_scripts.ts`. Each uses keys of one hash tag only. KEYS[1] is always the
 * base of the tag: it routes the call, and nothing is stored under it. The names below it come from `keys.ts`. Times are
 * those of the server.
 */
import { OPEN_TERM, SHORT_PREFIX, WAIT_TERM } from "../list_query.ts";
import {
  ACTOR_FIELD,
  BLOB_KEY,
  COMMON_PARTS,
  FEED_FIELD,
  MANIFEST_KEY,
  MANY_VALUES,
  MARK_ROW,
  MAX_TERM_MS,
  MIN_FEED,
  REMAINS_FIELD,
  SHARD_KEY,
} from "./keys.ts";
import { defineScript } from "./script.ts";
import { HOLD } from "./shared_texts.ts";
import { SHORT_SINCE, WHOLE_TEXT } from "./texts/short_texts.ts";

/** A shard that has so few actors again is small: below the 128 members that Redis keeps in its compact form. */
const SMALL_AGAIN = 96;

/** Lua: `now()` in milliseconds. */
const NOW = `
local function now()
  local time = redis.call('TIME')
  return time[1] * 1000 + math.floor(time[2] / 1000)
end

-- Members of a sorted set of replicas that are alive.
local function live_at(time, replicas)
  return redis.call('ZRANGEBYSCORE', replicas, '(' .. time, time + ${MAX_TERM_MS})
end
`;

/**
 * Lua: versions and the change feed under a base. A version is the server's time in microseconds, but always higher than
 * the last one under the same base, and than all that the clock of versions knows: so they grow with commits over all bases
 * of a server, also when its time goes back. A cluster has no such clock, since its keys lie on several servers.
 */
const FEED = `
-- Whole numbers are formatted much faster, but they may have 32 bits only.
local function number(value)
  if value < 1000000000 then return string.format('%.0f', value) end
  local low = value % 1000000
  return string.format('%d%06d', (value - low) / 1000000, low)
end

-- The same throughout a call.
local time = redis.call('TIME')
local micros = time[1] * 1000000 + time[2]
local function version_after(last)
  return math.max(micros, tonumber(last or '0') + 1)
end

-- What the clock of versions shows; nothing at all if writes are refused, since then no version is given either.
local shown = 0
local function show(clock, version)
  shown = version
  return redis.pcall('SET', clock, number(version), 'GET')
end

-- To be called before the first version. 'clock': its key, '' on a cluster.
local function begin_versions(clock)
  if clock == '' then return end
  local last = show(clock, micros)
  last = type(last) == 'string' and tonumber(last) or 0
  if last < micros then return end
  micros = last + 1
  show(clock, micros)
end

-- To be called with the highest version that was given.
local function end_versions(clock, version)
  if clock ~= '' and version > shown then show(clock, version) end
end

-- Notes up to where a feed was trimmed. 'latest': the change that follows this version is still there, if there is one.
local function note_floor(base, latest)
  local first = redis.call('XRANGE', base .. '${SHARD_KEY.feed}', '-', '+', 'COUNT', 1)[1]
  local floor = math.min(tonumber(string.match(first[1], '^%d+')) - 1, latest)
  redis.call('HSET', base .. '${SHARD_KEY.meta}', 'floor', number(floor))
end

-- Trims a feed at about every eighth change. 'before': the version before these changes, all of which stay.
local function trim_feed(base, before, version, count, length)
  local feed = base .. '${SHARD_KEY.feed}'
  if version % 8 < count and redis.call('XLEN', feed) > length + length / 16 then
    redis.call('XTRIM', feed, 'MAXLEN', length)
    note_floor(base, before)
  end
end
`;

/** Lua: trims the feed of manifests after a change of this size, in bytes, and wakes the readers of the feed. */
const PUBLISH = `
local function publish(base, version, size, channel, max_length, max_bytes)
  local meta = base .. '${SHARD_KEY.meta}'
  local mean = tonumber(redis.call('HGET', meta, 'mean') or '1024')
  mean = mean + (size + 500 - mean) / 16
  redis.call('HSET', meta, 'mean', number(mean))
  local length = math.min(max_length, math.max(${MIN_FEED}, math.floor(max_bytes / mean)))
  -- Manifests change seldom and may be large, so each change looks at the length: 8 counts as that.
  trim_feed(base, version - 1, version, 8, length)
  redis.call('PUBLISH', channel, '')
end
`;

/**
 * Writes commits of shards, each completely or not at all, independently of one another. On a cluster they share a slot.
 *
 * Lua hashes every byte of each string that it meets, and calls of Redis read their arguments from a table fastest. So each
 * long text comes once, as an argument of its own, where it follows its key; everything short comes in one list.
 *
 * KEYS  1 base of the first shard
 * ARGV  1 channel of the feed
 *       2 what the message about the changes says: who made them, '' if the caller wants to hear it too. Somebody who does not is
 *         one of those who listen; if there are no others, there is no message
 *       3 length of the feed, its bytes, roughly, layout of the store, base of the manifests, and key of the clock of versions,
 *         '' on a cluster, with spaces between them
 *       then for each commit
 *       1 base of its shard
 *       2 how many arguments follow the list
 *       3 format of the list for struct.unpack, '' for JSON
 *       4 the list, see \`commits/commit_args.ts\`: epoch; session in which the caller writes, '' for none; outbox row that
 *         must have a certain text, '' for none; the text, '' if there must be no such row; the next text of the row that
 *         marks the last commit, which layout 2 keeps elsewhere, '' for none; cursor of the mailbox, '' for none; version that
 *         the manifests must have, '' for any; numbers of actors, outbox ids dropped, outbox rows put, timer ids cleared,
 *         timers set, answers; the actors (below); outbox ids dropped; timer ids cleared; times and ids of timers set; of each
 *         answer its key, its time of expiry, and which actor's version it shows
 *       5 for each actor the text in whose place the reference is, if it has one, '@i' and its index entry, if it has one, keys
 *         and texts of the parts put, or, if they are many, the change as the feed holds it, and JSON with the lengths of the
 *         texts in bytes, '' if they are those in the change; the change as the feed holds it if nodes were written before; ids
 *         and texts of the outbox rows put; answers as JSON
 *       What the list has for an actor: id; whether it creates, removes, is silent, no longer has a part that may be a
 *       reference, has an index entry (1 or 0 each); numbers of parts put, parts dropped, and keys of other parts; how many
 *       changes ago it was created or ''; name of what a removal leaves behind or ''; a reference among the parts put or '';
 *       whether its parts are many (1 or 0); name and number of the nodes that were written before, with a space between, or '';
 *       if it has an index entry: time of it, its place among those that are waiting or '', its uid, version of the actor, or
 *       text of the entry, that the caller knows ('' for none), terms that it has had since then as JSON, numbers of the terms
 *       that are new and of those that are gone, these terms; parts dropped; keys of other parts
 * Returns  for each commit
 *          {'ok', version …}: one for each actor, '' if nothing changed
 *          {'stale'}: another epoch
 *          {'session'}: another session
 *          {'lost'}: the outbox row has another text
 *          {'manifests'}: the manifests have another version
 *          {'exists', actor id}: an actor to be created exists
 *          {'error', text}: Redis refused it
 */
export const COMMIT = defineScript(`
${FEED}
local call, arguments, concat = redis.call, ARGV, table.concat
local max_length, max_bytes, layout, manifests, clock = string.match(arguments[3], '^(%d+) (%d+) (%d+) (.*) (.*)$')
max_length, max_bytes = tonumber(max_length), tonumber(max_bytes)
begin_versions(clock)

-- Version of all manifests; asked for once in a call.
local manifests_now
local function are_manifests(version)
  manifests_now = manifests_now or call('HGET', manifests .. '${SHARD_KEY.meta}', 'version') or '0'
  return manifests_now == version
end

-- Carries out a command with a part of a list, some arguments at a time. It may be nothing.
local function in_slices(command, key, list, from, to)
  for first = from, to, 1000 do call(command, key, unpack(list, first, math.min(first + 999, to))) end
end

-- Base of the shard, of the sets of its terms, and the list of the commit.
local base, term_base, head

-- Of the feed: highest version that was trimmed, mean memory of a change in bytes, number of changes to keep; and whether the
-- mean will be noted.
local floor, mean, length, measures

-- Notes how much memory a change takes, without what each has: lengths and number of its texts.
local function measure(size, count)
  size = size + 4 * count
  -- Redis allocates nodes of 4 KiB and puts as many whole entries into each as there is room for.
  if size < 4096 then size = 4096 / math.floor(4096 / size) end
  mean = mean + (math.min(size + 500, 65536) - mean) / 16
end

local function is_reference(text)
  return layout ~= '1' and text and string.sub(text, 1, 1) == '@'
end

-- What most commits do not need. Making these functions takes longer than such a commit does.
local function make_rare()
local rare = {}

${WHOLE_TEXT}
-- The sets in which every actor may be.
local function common_terms(id)
  local namespace = string.match(id, '^[^/]*/([^/]*)') or ''
  return {[term_base .. '*'] = true, [term_base .. 'n:' .. namespace] = true, [term_base .. '${OPEN_TERM}'] = true}
end

-- The sets in which an actor of this phase may be, whatever the layout of the store.
local function add_phase(terms, phase)
  terms[term_base .. 'p:' .. phase] = true
  terms[term_base .. 'q:' .. phase] = true
end

-- The sets in which a stored index entry may be, and the entry. An error if it can't be read.
local function read_entry(id, text)
  local entry, terms = cjson.decode(whole_text(text, '')), common_terms(id)
  assert(type(entry[1]) == 'string' and type(entry[3]) == 'number')
  add_phase(terms, entry[2])
  for key, value in pairs(entry[6]) do terms[term_base .. 'l:' .. key .. '=' .. value] = true end
  if entry[7] then terms[term_base .. '${WAIT_TERM}'] = true end
  return terms, entry
end

-- The sets in which an unreadable entry may be, as far as the header tells.
local function guess_terms(id)
  local terms = common_terms(id)
  for _, phase in ipairs({'', 'Pending', 'Running', 'Succeeded', 'Failed', 'Error'}) do add_phase(terms, phase) end
  terms[term_base .. '${WAIT_TERM}'] = true
  pcall(function()
    local header = call('HGET', base .. '${SHARD_KEY.actor}' .. id, 'h')
    header = cjson.decode(whole_text(header, string.match(id, '^[^/]*/[^/]*/(.*)$') or ''))
    local prefix = '${SHORT_PREFIX}'
    for key, value in pairs(header.metadata.labels) do
      if string.sub(key, 1, #prefix) == prefix then key = '~' .. string.sub(key, #prefix + 1) end
      terms[term_base .. 'l:' .. key .. '=' .. value] = true
    end
  end)
  return terms, {}
end

local function terms_of(id, text)
  local readable, terms, entry = pcall(read_entry, id, text)
  if readable then return terms, entry end
  return guess_terms(id)
end

-- Forgets who has a uid, unless that is somebody else: a workflow and the record of its deletion have the same.
local function drop_uid(uid, id)
  local uids = base .. '${SHARD_KEY.uids}'
  if uid and call('HGET', uids, uid) == id then call('HDEL', uids, uid) end
end

-- Moves an actor from the sets of its stored entry to those of its new one. Returns whether its uid is new.
function rare.refile(actor, old, add_term)
  local before, entry = {}, {}
  if old then before, entry = terms_of(actor.id, old) end
  local terms = cjson.decode(head[actor.filing + 4])
  for i = actor.fresh, actor.gone - 1 do terms[#terms + 1] = head[i] end
  for _, term in ipairs(terms) do
    add_term(actor, term)
    before[term_base .. term] = nil
  end
  for key in pairs(before) do call('ZREM', key, actor.id) end
  local uid = head[actor.filing + 2]
  if entry[1] ~= uid then drop_uid(entry[1], actor.id) end
  return entry[1] ~= uid
end

-- Redis keeps the form of a set or a hash that was large, which takes ten times as much, however small it becomes. So what has
-- become small again is written anew.
local function compact(terms)
  for key in pairs(terms) do call('ZUNIONSTORE', key, 1, key) end
  local uids = base .. '${SHARD_KEY.uids}'
  if call('HLEN', uids) > ${SMALL_AGAIN} then return end
  local known = call('HGETALL', uids)
  call('DEL', uids)
  if #known > 0 then call('HSET', uids, unpack(known)) end
end

function rare.unfile(id, text)
  local terms, entry = terms_of(id, text)
  -- An older program writes entries that do not tell.
  terms[term_base .. '${WAIT_TERM}'] = true
  for key in pairs(terms) do call('ZREM', key, id) end
  drop_uid(entry[1], id)
  if call('ZCARD', term_base .. '*') ~= ${SMALL_AGAIN} then return end
  add_phase(terms, 'Running')
  compact(terms)
end

-- Earlier texts of the touched parts, each after its name.
function rare.texts_before(actor)
  local names, before = {}, {}
  for i = actor.put, actor.last, 2 do names[#names + 1] = arguments[i] end
  for i = actor.drop, actor.drop_end do names[#names + 1] = head[i] end
  for from = 1, #names, 1000 do
    for i, text in ipairs(call('HMGET', actor.key, unpack(names, from, math.min(from + 999, #names)))) do
      if text then before[#before + 1], before[#before + 2] = names[from + i - 1], text end
    end
  end
  return before
end

-- The same as one text: lengths in bytes, '-' for a part that did not exist, then the texts.
local function in_one(actor, before)
  local lengths, texts, next = {}, {}, 1
  local function add(name)
    local text = before[next] == name and before[next + 1]
    lengths[#lengths + 1] = text and #text or '-'
    if text then texts[#texts + 1], next = text, next + 2 end
  end
  for i = actor.put, actor.last, 2 do add(arguments[i]) end
  for i = actor.drop, actor.drop_end do add(head[i]) end
  return #texts > 0 and concat(lengths, ' ') .. '\\n' .. concat(texts) or ''
end

-- One actor less has it. Readers of the feed may still ask for it.
function rare.release(reference)
  if not is_reference(reference) then return end
  local key = base .. '${SHARD_KEY.shared}' .. reference
  if call('HINCRBY', key, 'n', -1) <= 0 then call('PEXPIRE', key, 3600000) end
end

function rare.text_of(text)
  if not is_reference(text) then return text end
  return call('HGET', base .. '${SHARD_KEY.shared}' .. text, 't')
end

-- Parts of an actor, as JSON: all of them, or all except nodes.
function rare.parts_of(key, others)
  local parts = {}
  if others then
    local names = {${COMMON_PARTS.map((part) => `'${part}'`).join(", ")}}
    for name in string.gmatch(others, '[^\\n]+') do names[#names + 1] = name end
    for i, text in ipairs(call('HMGET', key, unpack(names))) do
      if text then parts[names[i]] = text end
    end
  else
    local fields = call('HGETALL', key)
    for i = 1, #fields, 2 do
      if string.sub(fields[i], 1, 1) ~= '@' then parts[fields[i]] = fields[i + 1] end
    end
  end
  parts.s = rare.text_of(parts.s) or nil
  return next(parts) and cjson.encode(parts) or ''
end

-- A change with all texts in one, as change.ts reads it; lengths are in UTF-16 units.
local function encode_change(actor)
  if actor.whole then return actor.whole end
  local keys, sizes, all, drop = {}, {}, {}, {}
  for i = actor.put, actor.last, 2 do
    local text = arguments[i + 1]
    local _, inner = string.gsub(text, '[\\128-\\191]', '')
    local _, long = string.gsub(text, '[\\240-\\247]', '')
    keys[#keys + 1], sizes[#sizes + 1], all[#all + 1] = arguments[i], #text - inner + long, text
  end
  for i = actor.drop, actor.drop_end do drop[#drop + 1] = head[i] end
  local function list(items) return #items == 0 and '[]' or cjson.encode(items) end
  return '[' .. list(keys) .. ',' .. list(sizes) .. ',' .. list(drop) .. ']\\n' .. concat(all)
end

-- Adds the parts of such a change to the arguments, behind '@i' and the index entry. To put them together here would take
-- longer: Lua hashes each text on the way. Returns where they begin.
function rare.take_apart(actor, argument)
  local whole, bytes, count = arguments[argument], arguments[argument + 1], #arguments
  local first = string.find(whole, '\\n', 1, true) + 1
  local header = cjson.decode(string.sub(whole, 1, first - 2))
  local sizes = bytes == '' and header[2] or cjson.decode(bytes)
  if actor.index then
    arguments[count + 1], arguments[count + 2] = '${ACTOR_FIELD.index}', actor.index
    count = count + 2
  end
  for i, key in ipairs(header[1]) do
    local last = first + sizes[i] - 1
    arguments[count + 2 * i - 1], arguments[count + 2 * i] = key, string.sub(whole, first, last)
    first = last + 1
  end
  actor.whole = whole
  return count + 1
end

-- Adds such a change to the feed. \`before\` is a list or a text.
function rare.announce_whole(version, actor, kind, before, old)
  local entry = {'c', encode_change(actor)}
  local index, texts = actor.index or old, type(before) == 'table' and in_one(actor, before) or before
  if index then entry[3], entry[4] = 'i', index end
  if texts ~= '' then entry[#entry + 1], entry[#entry + 2] = 'b', texts end
  call('XADD', base .. '${SHARD_KEY.feed}', version, 't', kind, 'a', actor.id, unpack(entry))
  if not measures then return end
  local size = 3 + #actor.id
  for _, text in ipairs(entry) do size = size + #text end
  measure(size, 4 + #entry)
end

-- Notes the keys of other parts.
function rare.note_others(actor, before)
  local others = before
  for i = actor.others, actor.others_end do
    if not string.find('\\n' .. others .. '\\n', '\\n' .. head[i] .. '\\n', 1, true) then
      others = others == '' and head[i] or others .. '\\n' .. head[i]
    end
  end
  if others ~= before then call('HSET', actor.key, '${ACTOR_FIELD.others}', others) end
end

return rare
end

local rare_functions
local function rare()
  rare_functions = rare_functions or make_rare()
  return rare_functions
end

-- Version and index entry of an actor; of one whose other parts or whose part that may be a reference matter, the keys of
-- the former, and the latter.
local function read_before(actor)
  if actor.creates and call('EXISTS', actor.key) == 0 then return {} end
  local found
  if layout == '1' or actor.removes or actor.loses or actor.others <= actor.others_end then
    local names = {'${ACTOR_FIELD.version}', '${ACTOR_FIELD.index}', '${ACTOR_FIELD.others}'}
    -- Whether it has a reference in the place of the part.
    if layout ~= '1' then names[4] = 's' end
    found = call('HMGET', actor.key, unpack(names))
  else
    found = call('HMGET', actor.key, '${ACTOR_FIELD.version}', '${ACTOR_FIELD.index}')
  end
  -- An actor that has lost its version still exists.
  if not found[1] and call('EXISTS', actor.key) == 1 then found[1] = '0' end
  return found
end

-- Whether a reader of the feed may ask for the earlier texts of the parts, and won't find them in earlier changes.
local function needs_texts(actor, version)
  if actor.silent then return false end
  if layout == '1' or actor.last - actor.put >= ${MANY_VALUES} then return true end
  if not version then return false end
  -- The change that created it is there, and will be for a while.
  if actor.age ~= '' and tonumber(actor.age) < length / 2 then return false end
  -- If there is no earlier change, nobody asks what the actor was like after one.
  local last = tonumber(version)
  return last == 0 or last >= floor
end

local function add_term(actor, term)
  local time = head[term == '${WAIT_TERM}' and actor.filing + 1 or actor.filing]
  call('ZADD', term_base .. term, time, actor.id)
end

local function file_under(actor, old, version)
  local filing, is_new = actor.filing, not old
  local known = head[filing + 3]
  if known == (version or '') or known == old then
    for i = actor.fresh, actor.gone - 1 do add_term(actor, head[i]) end
    for i = actor.gone, actor.gone_end do call('ZREM', term_base .. head[i], actor.id) end
  else
    is_new = rare().refile(actor, old, add_term)
  end
  if is_new then call('HSET', base .. '${SHARD_KEY.uids}', head[filing + 2], actor.id) end
end

${HOLD}
-- Adds a change to the feed: a field for each part, beside the index entry, the one that it replaced, the keys that were
-- dropped, and the earlier texts of the parts, or nil when nobody needs those here. All in two fields if they are a text,
-- or if there are too many.
local function announce(version, actor, type, before, old)
  if actor.silent then return end
  local index, from, to = actor.index, actor.put, actor.last
  if actor.staged or before and (layout == '1' or type == 'D' or to - from + #before >= ${MANY_VALUES}) then
    return rare().announce_whole(version, actor, type, before or '', old)
  end
  local feed, id, size = base .. '${SHARD_KEY.feed}', actor.id, 3 + #actor.id
  -- Each form of a change without a table that would have to be made first.
  local replaced = index and old and old ~= index and not before and old
  if index then from = from - 2 end
  if before or actor.drop <= actor.drop_end then
    local entry = {}
    if actor.drop <= actor.drop_end then
      entry[1], entry[2] = '${FEED_FIELD.dropped}', concat(head, '\\n', actor.drop, actor.drop_end)
    end
    if replaced then entry[#entry + 1], entry[#entry + 2] = '${FEED_FIELD.indexBefore}', replaced end
    if old and not index then entry[#entry + 1], entry[#entry + 2] = '${FEED_FIELD.index}', old end
    if before then
      -- One field at least says that these are all.
      if #before == 0 then before = {'', ''} end
      for i = 1, #before, 2 do
        entry[#entry + 1], entry[#entry + 2] = '${FEED_FIELD.before}' .. before[i], before[i + 1]
      end
    end
    for _, text in ipairs(entry) do size = size + #text end
    for i = from, to do entry[#entry + 1] = arguments[i] end
    call('XADD', feed, version, 't', type, 'a', id, unpack(entry))
  elseif replaced then
    call('XADD', feed, version, 't', type, 'a', id, '${FEED_FIELD.indexBefore}', replaced, unpack(arguments, from, to))
    size = size + #replaced
  elseif old and not index then
    call('XADD', feed, version, 't', type, 'a', id, '${FEED_FIELD.index}', old, unpack(arguments, from, to))
    size = size + #old
  else
    call('XADD', feed, version, 't', type, 'a', id, unpack(arguments, from, to))
  end
  if measures then
    for i = from, to do size = size + #arguments[i] end
    measure(size, to - from + 7)
  end
end

-- Highest version in this call: no two changes of one server have the same version.
local newest = 0

-- An actor of a commit: where its share of the list and of the arguments begins. Returns also where those of the next begin.
local function read_actor(at, argument)
  local id, has_index = head[at], head[at + 5] == 1
  local actor = {
    id = id, key = base .. '${SHARD_KEY.actor}' .. id, creates = head[at + 1] == 1, removes = head[at + 2] == 1,
    silent = head[at + 3] == 1, loses = head[at + 4] == 1, age = head[at + 9], remains = head[at + 10],
    reference = head[at + 11], put = 0, last = 0, drop = 0, drop_end = 0, others = 0, others_end = 0, text = false, whole = false,
    staged = false, nodes = 0, index = false, filing = 0, fresh = 0, gone = 0, gone_end = 0
  }
  local put, drop, others = head[at + 6], head[at + 7], head[at + 8]
  if actor.reference ~= '' then
    actor.text = arguments[argument]
    argument = argument + 1
  end
  local is_long, staged = head[at + 12] == 1, head[at + 13]
  at = at + 14
  if has_index then
    actor.filing, actor.index, actor.fresh = at, arguments[argument + 1], at + 7
    actor.gone = actor.fresh + head[at + 5]
    actor.gone_end = actor.gone + head[at + 6] - 1
    at, argument = actor.gone_end + 1, argument + 2
  end
  local next_argument = argument + 2 * put
  if is_long then
    next_argument = argument + 2
    argument = rare().take_apart(actor, argument)
  end
  if staged ~= '' then
    local name, count = string.match(staged, '^(%S+) (%d+)$')
    actor.staged, actor.nodes = base .. '${SHARD_KEY.staged}' .. name, tonumber(count)
    actor.whole = arguments[next_argument]
    next_argument = next_argument + 1
  end
  -- A removal writes and drops nothing by itself.
  local is_kept = not actor.removes
  actor.put, actor.last = argument, argument + (is_kept and 2 * put or 0) - 1
  actor.drop, actor.drop_end = at, at + (is_kept and drop or 0) - 1
  actor.others, actor.others_end = at + drop, at + drop + others - 1
  return actor, at + drop + others, next_argument
end

local function change_actor(actor, before, version)
  local old, earlier = before[2], nil
  if needs_texts(actor, before[1]) then earlier = before[1] and rare().texts_before(actor) or {} end
  if actor.reference ~= (before[4] or '') then
    if actor.reference ~= '' then hold(actor.reference, actor.text) end
    if before[4] and actor.loses then rare().release(before[4]) end
  end
  if actor.drop <= actor.drop_end then in_slices('HDEL', actor.key, head, actor.drop, actor.drop_end) end
  if actor.others <= actor.others_end then rare().note_others(actor, before[3] or '') end
  if actor.staged then
    call('RENAME', actor.staged, actor.key)
    call('PERSIST', actor.key)
  end
  local from = actor.put
  if actor.index and actor.index ~= old then
    file_under(actor, old, before[1])
    from = from - 2
  end
  if actor.last - from < ${MANY_VALUES} then
    call('HSET', actor.key, '${ACTOR_FIELD.version}', version, unpack(arguments, from, actor.last))
  else
    call('HSET', actor.key, '${ACTOR_FIELD.version}', version)
    in_slices('HSET', actor.key, arguments, from, actor.last)
  end
  announce(version, actor, before[1] and 'M' or 'A', earlier, old)
end

local function remove_actor(actor, before, version)
  local old, leaves, rare = before[2], actor.remains ~= '', rare()
  local parts = actor.silent and '' or rare.parts_of(actor.key, leaves and (before[3] or ''))
  if old then rare.unfile(actor.id, old) end
  if leaves and is_reference(before[4]) then call('HSET', actor.key, 's', rare.text_of(before[4]) or '') end
  rare.release(before[4])
  if leaves then
    call('HDEL', actor.key, '${ACTOR_FIELD.version}', '${ACTOR_FIELD.index}', '${ACTOR_FIELD.others}')
    if call('EXISTS', actor.key) == 1 then
      if tonumber(layout) >= ${SHORT_SINCE} then call('HSET', actor.key, '${REMAINS_FIELD.actor}', actor.id) end
      call('RENAME', actor.key, base .. '${SHARD_KEY.remains}' .. actor.remains)
    end
  else
    call('UNLINK', actor.key)
  end
  announce(version, actor, 'D', parts, old)
end

-- Writes answers; their texts are the last arguments.
local function write_answers(at, count, argument, versions)
  for i = 0, count - 1 do
    local text, version = arguments[argument + i], versions[head[at + 3 * i + 2]]
    if version then text = string.sub(text, 1, -2) .. ',"version":"' .. version .. '"}' end
    call('SET', base .. '${SHARD_KEY.answer}' .. head[at + 3 * i], text, 'PXAT', head[at + 3 * i + 1])
  end
end

local function commit(list, argument)
  local format = arguments[list]
  head = format == '' and cjson.decode(arguments[list + 1]) or {struct.unpack(format, arguments[list + 1])}
  local epoch, session, row, text, mark, cursor, needed = unpack(head, 1, 7)
  local count, rows_gone, rows, timers_gone, timers_set, answers = unpack(head, 8, 13)
  term_base = base .. '${SHARD_KEY.term}'
  local meta = base .. '${SHARD_KEY.meta}'
  local lease = call('HMGET', meta, 'epoch', 'session', 'version', 'floor', 'mean', 'mark')
  if (lease[1] or '0') ~= epoch then return {'stale'} end
  if (lease[2] or '') ~= session then return {'session'} end
  if row ~= '' then
    local stored = lease[6]
    if layout == '1' or row ~= '${MARK_ROW}' then stored = call('HGET', base .. '${SHARD_KEY.outbox}', row) end
    if (stored or '') ~= text then return {'lost'} end
  end
  if needed ~= '' and not are_manifests(needed) then return {'manifests'} end

  floor, mean = tonumber(lease[4] or '0'), tonumber(lease[5] or '1024')
  length = math.min(max_length, math.max(${MIN_FEED}, math.floor(max_bytes / mean)))
  local version = math.max(version_after(lease[3]) - 1, newest)
  measures = count > 1 or (version + 1) % 8 < 1

  -- What the changes find. A second change of the same actor finds what the first one has left.
  local actors, known, at = {}, {}, 14
  for i = 1, count do
    local actor
    actor, at, argument = read_actor(at, argument)
    local id = actor.id
    if known[id] == nil then
      actor.before = read_before(actor)
      known[id] = actor.before[1]
    end
    if known[id] and actor.creates then return {'exists', id} end
    -- Redis may have lost some of them since.
    if actor.staged and call('HLEN', actor.staged) ~= actor.nodes then return {'lost'} end
    known[id] = not actor.removes
    actors[i] = actor
  end

  local reply, versions = {'ok'}, {}
  local written
  for i = 1, count do
    local actor, shown = actors[i], ''
    local before = actor.before or read_before(actor)
    if before[1] or not actor.removes then
      version = version + 1
      shown = number(version)
      versions[actor.id] = shown
      written = shown
      if actor.removes then remove_actor(actor, before, shown) else change_actor(actor, before, shown) end
    end
    reply[i + 1] = shown
  end

  newest = math.max(newest, version)
  local news = {}
  if count > 0 then
    -- Of the mean, from time to time is often enough.
    if version % 8 < count then news = {'mean', number(mean)} end
    news[#news + 1], news[#news + 2] = 'version', written or number(version)
  end
  if not lease[1] then news[#news + 1], news[#news + 2] = 'epoch', epoch end
  if mark ~= '' then news[#news + 1], news[#news + 2] = 'mark', mark end
  if cursor ~= '' then news[#news + 1], news[#news + 2] = 'cursor', cursor end
  if #news > 0 then call('HSET', meta, unpack(news)) end
  -- Whoever reads after each commit misses nothing.
  if count > 0 then trim_feed(base, tonumber(lease[3] or '0'), version, count, math.max(length, count)) end

  if rows_gone + rows > 0 then
    local outbox = base .. '${SHARD_KEY.outbox}'
    in_slices('HDEL', outbox, head, at, at + rows_gone - 1)
    at = at + rows_gone
    in_slices('HSET', outbox, arguments, argument, argument + 2 * rows - 1)
    argument = argument + 2 * rows
  end
  if timers_gone + timers_set > 0 then
    local timers = base .. '${SHARD_KEY.timers}'
    in_slices('ZREM', timers, head, at, at + timers_gone - 1)
    at = at + timers_gone
    in_slices('ZADD', timers, head, at, at + 2 * timers_set - 1)
    at = at + 2 * timers_set
  end
  if answers > 0 then write_answers(at, answers, argument, versions) end
  if cursor ~= '' then
    local milliseconds, sequence = string.match(cursor, '^(%d+)%-(%d+)$')
    call('XTRIM', base .. '${SHARD_KEY.mail}', 'MINID', milliseconds .. '-' .. number(sequence + 1))
  end
  return reply
end

local replies, at = {}, 4
-- Parts that come in one text are added behind.
local sent = #arguments
while at <= sent do
  base = arguments[at]
  local done, reply = pcall(commit, at + 2, at + 4)
  if not done then reply = {'error', type(reply) == 'table' and reply.err or tostring(reply)} end
  replies[#replies + 1] = reply
  at = at + 4 + arguments[at + 1]
end
end_versions(clock, newest)
-- Each message wakes a process, which costs it more than the question costs here. All is written by now, so nothing may fail.
local function has_others()
  local heard = redis.pcall('PUBSUB', 'NUMSUB', arguments[1])
  return heard.err or heard[2] > 1
end
local sender = arguments[2]
if sender == '' or has_others() then call('PUBLISH', arguments[1], sender) end
return replies
`);

/**
 * Begins a new session of a shard's owner: from now on, commits of earlier sessions are refused.
 *
 * KEYS  1 base of the shard
 * ARGV  1 epoch of the owner, 2 session
 * Returns  1, or 0 if the epoch is another one (nothing is changed)
 */
export const BEGIN_SESSION = defineScript(`
local meta = KEYS[1] .. '${SHARD_KEY.meta}'
if (redis.call('HGET', meta, 'epoch') or '0') ~= ARGV[1] then return 0 end
redis.call('HSET', meta, 'session', ARGV[2])
return 1
`);

/**
 * Writes nodes ahead of their commit. They expire from the first moment: whoever wrote them, or Redis, may end at any time.
 *
 * KEYS  1 base of the shard
 * ARGV  1 their name, 2 how long they stay in milliseconds, then keys and texts, at most MANY_VALUES of them
 * Returns  1
 */
export const STAGE_NODES = defineScript(`
local key = KEYS[1] .. '${SHARD_KEY.staged}' .. ARGV[1]
redis.call('HSET', key, unpack(ARGV, 3))
return redis.call('PEXPIRE', key, ARGV[2])
`);

/**
 * Takes the lease of a free or expired shard, or renews the lease of the caller itself, under a new epoch.
 *
 * KEYS  1 base of the shard
 * ARGV  1 replica, 2 term in milliseconds, 3 key that tells that an epoch has changed, '' on a cluster, 4 its new text
 * Returns  0 if another replica holds it; else {epoch, when the lease of a former owner ran out, '' if it gave it back}
 */
export const ACQUIRE = defineScript(`
${NOW}
local meta = KEYS[1] .. '${SHARD_KEY.meta}'
local lease = redis.call('HMGET', meta, 'epoch', 'owner', 'until')
local time = now()
local left = lease[2] and (lease[3] or 0) - time or 0
local held = left > 0 and left <= ${MAX_TERM_MS}
if held and lease[2] ~= ARGV[1] then return 0 end
local epoch = tonumber(lease[1] or '0') + 1
redis.call('HDEL', meta, 'session')
redis.call('HSET', meta, 'epoch', epoch, 'owner', ARGV[1], 'until', time + ARGV[2])
if ARGV[3] ~= '' then redis.call('SET', ARGV[3], ARGV[4]) end
local expired = lease[2] and lease[2] ~= ARGV[1] and lease[3]
return {epoch, expired or ''}
`);

/** Time between two renewals of a lease that stand in the append-only file, ms. */
const LOGGED_EVERY_MS = 10_000;

/**
 * Extends leases that nobody else has taken, and trims the feeds of their shards by age, which must happen also where
 * nothing changes any more. On a cluster the shards share a slot.
 *
 * Replicas of Redis are told of each renewal, the append-only file only of some: it would grow by hundreds of megabytes a day
 * where nothing happens. After a restart Redis then takes a lease for expired that its owner has renewed. If another replica
 * takes it, its epoch ends what the former owner does, as ever.
 *
 * KEYS  1 base of the first shard
 * ARGV  1 replica, 2 term in milliseconds, 3 age in milliseconds up to which changes stay, 4 bytes of the newest ones, which
 *       stay anyway, then for each lease: base of its shard, epoch
 * Returns  for each 1, or 0 if it is lost
 */
export const RENEW = defineScript(`
${NOW}
${FEED}
local time_now, held = now(), {}
local until_when, oldest = time_now + ARGV[2], number((time_now - ARGV[3]) * 1000)

local function turn_of(time) return math.floor(time / ${LOGGED_EVERY_MS}) end

local function extend(meta, before)
  local is_logged = not before or turn_of(before - ARGV[2]) ~= turn_of(time_now)
  if not is_logged then redis.set_repl(redis.REPL_REPLICA) end
  redis.call('HSET', meta, 'until', until_when)
  if not is_logged then redis.set_repl(redis.REPL_ALL) end
end

local function trim_old(base, mean)
  local feed = base .. '${SHARD_KEY.feed}'
  local excess = redis.call('XLEN', feed) - math.max(${MIN_FEED}, math.floor(ARGV[4] / mean))
  if excess <= 0 then return end
  -- Only whole nodes of the stream, which is cheap, and never more than that many entries.
  local gone = redis.call('XTRIM', feed, 'MINID', '~', oldest .. '-0', 'LIMIT', excess)
  if gone > 0 then note_floor(base, math.huge) end
end

for at = 5, #ARGV, 2 do
  local meta = ARGV[at] .. '${SHARD_KEY.meta}'
  local lease = redis.call('HMGET', meta, 'epoch', 'owner', 'mean', 'until')
  local is_held = lease[1] == ARGV[at + 1] and lease[2] == ARGV[1]
  if is_held then
    extend(meta, tonumber(lease[4] or ''))
    trim_old(ARGV[at], tonumber(lease[3] or '') or 1024)
  end
  held[#held + 1] = is_held and 1 or 0
end
return held
`);

/**
 * Gives a lease back.
 *
 * KEYS  1 base of the shard
 * ARGV  1 epoch
 * Returns  1, or 0 if the epoch is another one
 */
export const RELEASE = defineScript(`
local meta = KEYS[1] .. '${SHARD_KEY.meta}'
if redis.call('HGET', meta, 'epoch') ~= ARGV[1] then return 0 end
redis.call('HDEL', meta, 'owner', 'until')
return 1
`);

/**
 * Gives back the leases of a replica that is gone. On a cluster the shards share a slot.
 *
 * KEYS  1 base of the first shard
 * ARGV  1 replica, then the base of each shard
 * Returns  nothing
 */
export const FREE = defineScript(`
for i = 2, #ARGV do
  local meta = ARGV[i] .. '${SHARD_KEY.meta}'
  if redis.call('HGET', meta, 'owner') == ARGV[1] then redis.call('HDEL', meta, 'owner', 'until') end
end
return {}
`);

/**
 * Opens a store, which is created if there is none yet.
 *
 * KEYS  1 key that says what the store is like: a hash, in layout 1 just the number of shards. A program that knows only
 *         layout 1 gets an error when it reads the hash, and doesn't start.
 * ARGV  1 number of shards of a new store, 2 its layout
 * Returns  {number of shards, layout}
 */
export const OPEN = defineScript(`
local type = redis.call('TYPE', KEYS[1]).ok
if type == 'string' then return {redis.call('GET', KEYS[1]), '1'} end
if type == 'none' then redis.call('HSET', KEYS[1], 'shards', ARGV[1], 'layout', ARGV[2]) end
return redis.call('HMGET', KEYS[1], 'shards', 'layout')
`);

/**
 * Announces a replica. The clock of versions goes on: an older program gives versions that it does not show. If Redis has lost what
 * the store is like, it is told: who starts next must not make another one of it.
 *
 * KEYS  1 sorted set of replicas
 * ARGV  1 replica, 2 term in milliseconds, 3 key of the clock of versions, '' on a cluster, 4 key that says what the store is
 *         like, as for OPEN, 5 number of shards and 6 layout with which the replica works
 * Returns  the time, number of shards and layout of the store, then the names of the live replicas; if the store is not like that,
 *         nothing is announced
 */
export const HEARTBEAT = defineScript(`
${NOW}
${FEED}
local is = {ARGV[5], ARGV[6]}
local type = redis.call('TYPE', ARGV[4]).ok
if type == 'hash' then is = redis.call('HMGET', ARGV[4], 'shards', 'layout')
elseif type == 'string' then is = {redis.call('GET', ARGV[4]), '1'}
elseif ARGV[6] == '1' then redis.call('SET', ARGV[4], ARGV[5])
else redis.call('HSET', ARGV[4], 'shards', ARGV[5], 'layout', ARGV[6]) end
if is[1] ~= ARGV[5] or is[2] ~= ARGV[6] then return {0, is[1], is[2]} end
if ARGV[3] ~= '' and tonumber(redis.call('GET', ARGV[3]) or '0') < micros then show(ARGV[3], micros) end
local time = now()
redis.call('ZREMRANGEBYSCORE', KEYS[1], '-inf', time - 3600000)
redis.call('ZADD', KEYS[1], time + ARGV[2], ARGV[1])
return {time, is[1], is[2], unpack(live_at(time, KEYS[1]))}
`);

/**
 * Live replicas.
 *
 * KEYS  1 sorted set of replicas
 * Returns  their names
 */
export const REPLICAS = defineScript(`
${NOW}
return live_at(now(), KEYS[1])
`);

/**
 * Puts commands into a shard's mailbox and wakes its reader.
 *
 * KEYS  1 base of the shard
 * ARGV  1 channel, then commands as JSON
 * Returns  their number
 */
export const APPEND = defineScript(`
local mail = KEYS[1] .. '${SHARD_KEY.mail}'
for i = 2, #ARGV do redis.call('XADD', mail, '*', 'c', ARGV[i]) end
redis.call('PUBLISH', ARGV[1], '')
return #ARGV - 1
`);

/**
 * Writes a manifest if what is stored is as expected.
 *
 * KEYS  1 base of the manifests
 * ARGV  1 kind, 2 place (namespace, zero, name), 3 expected version ('' = must not exist, '*' = whatever is there),
 *       4 record as JSON, 5 id in the feed, 6 encoded change, 7 channel of the feed, 8 length of the feed, 9 its bytes, roughly,
 *       10 key of the clock of versions, '' on a cluster
 * Returns  {'ok', version}, {'exists'}, {'missing'} or {'changed'}
 */
export const PUT_MANIFEST = defineScript(`
${FEED}${PUBLISH}
local base = KEYS[1]
local records = base .. '${MANIFEST_KEY.records}' .. ARGV[1]
local before = redis.call('HGET', records, ARGV[2])
if ARGV[3] == '' then
  if before then return {'exists'} end
elseif ARGV[3] ~= '*' then
  if not before then return {'missing'} end
  if string.match(before, '^%d+') ~= ARGV[3] then return {'changed'} end
end
begin_versions(ARGV[10])
local version = version_after(redis.call('HGET', base .. '${SHARD_KEY.meta}', 'version'))
end_versions(ARGV[10], version)
redis.call('HSET', base .. '${SHARD_KEY.meta}', 'version', number(version))
redis.call('HSET', records, ARGV[2], number(version) .. ' ' .. ARGV[4])
redis.call('ZADD', base .. '${MANIFEST_KEY.order}' .. ARGV[1], 0, ARGV[2])
redis.call('XADD', base .. '${SHARD_KEY.feed}', number(version) .. '-0', 't', before and 'M' or 'A', 'a', ARGV[5], 'c', ARGV[6])
publish(base, version, #ARGV[6], ARGV[7], tonumber(ARGV[8]), tonumber(ARGV[9]))
return {'ok', number(version)}
`);

/**
 * Removes a manifest if it has the expected version.
 *
 * KEYS  1 base of the manifests
 * ARGV  1 kind, 2 place, 3 expected version ('' = any), 4 id in the feed, 5 encoded change, 6 channel of the feed,
 *       7 length of the feed, 8 its bytes, roughly, 9 key of the clock of versions, '' on a cluster
 * Returns  what was stored (version, space, record), or nil if nothing was removed
 */
export const REMOVE_MANIFEST = defineScript(`
${FEED}${PUBLISH}
local base = KEYS[1]
local records = base .. '${MANIFEST_KEY.records}' .. ARGV[1]
local before = redis.call('HGET', records, ARGV[2])
if not before then return false end
if ARGV[3] ~= '' and string.match(before, '^%d+') ~= ARGV[3] then return false end
begin_versions(ARGV[9])
local version = version_after(redis.call('HGET', base .. '${SHARD_KEY.meta}', 'version'))
end_versions(ARGV[9], version)
redis.call('HSET', base .. '${SHARD_KEY.meta}', 'version', number(version))
redis.call('HDEL', records, ARGV[2])
redis.call('ZREM', base .. '${MANIFEST_KEY.order}' .. ARGV[1], ARGV[2])
redis.call('XADD', base .. '${SHARD_KEY.feed}', number(version) .. '-0', 't', 'D', 'a', ARGV[4], 'c', ARGV[5])
publish(base, version, #ARGV[5], ARGV[6], tonumber(ARGV[7]), tonumber(ARGV[8]))
return before
`);

/** Most changes of manifests that a look examines: each comes with its text. */
const MAX_EXAMINED = 16;

/**
 * Whether manifests have changed after a version. The change of that version must still be in the feed: it is not when the feed
 * was trimmed, or when Redis has lost its last writes.
 *
 * KEYS  1 base of the manifests
 * ARGV  1 version, 2 what their ids in the feed begin with
 * Returns  0 if none of them has, 1 if one may have
 */
export const MANIFESTS_CHANGED = defineScript(`
local from = ARGV[1] .. '-0'
local changes = redis.call('XRANGE', KEYS[1] .. '${SHARD_KEY.feed}', from, '+', 'COUNT', ${MAX_EXAMINED})
if #changes == 0 or #changes == ${MAX_EXAMINED} or changes[1][1] ~= from then return 1 end
for at = 2, #changes do
  local fields = changes[at][2]
  for place = 1, #fields, 2 do
    local isMine = string.sub(fields[place + 1], 1, #ARGV[2]) == ARGV[2]
    if fields[place] == 'a' and isMine then return 1 end
  end
end
return 0
`);

/**
 * Empties a mailbox and makes all versions so far too old. Used by `clear`, which removes the other keys itself.
 *
 * KEYS  1 base of a shard or of the manifests
 * ARGV  1 key of the clock of versions, '' on a cluster
 * Returns  1
 */
export const RESET_FEED = defineScript(`
${FEED}
local base = KEYS[1]
if redis.call('EXISTS', base .. '${SHARD_KEY.mail}') == 1 then
  redis.call('XTRIM', base .. '${SHARD_KEY.mail}', 'MAXLEN', 0)
end
begin_versions(ARGV[1])
local version = version_after(redis.call('HGET', base .. '${SHARD_KEY.meta}', 'version'))
end_versions(ARGV[1], version)
redis.call('HSET', base .. '${SHARD_KEY.meta}', 'version', number(version), 'floor', number(version))
redis.call('HDEL', base .. '${SHARD_KEY.meta}', 'mark')
return 1
`);

/**
 * Writes a blob.
 *
 * KEYS  1 base of the bucket
 * ARGV  1 key, 2 bytes, 3 most bytes of the blob after they are appended ('' = they replace it)
 * Returns  1
 */
export const PUT_BLOB = defineScript(`
local value = KEYS[1] .. '${BLOB_KEY.value}' .. ARGV[1]
if ARGV[3] == '' then
  redis.call('SET', value, ARGV[2])
else
  local room = math.max(0, ARGV[3] - redis.call('STRLEN', value))
  redis.call('APPEND', value, string.sub(ARGV[2], 1, room))
end
redis.call('ZADD', KEYS[1] .. '${BLOB_KEY.names}', 0, ARGV[1])
return 1
`);

/**
 * Removes blobs by prefix, at most 1,000.
 *
 * KEYS  1 base of the bucket
 * ARGV  1 prefix
 * Returns  how many were removed
 */
export const REMOVE_BLOBS = defineScript(`
local names = KEYS[1] .. '${BLOB_KEY.names}'
local from = ARGV[1] == '' and '-' or '[' .. ARGV[1]
local to = ARGV[1] == '' and '+' or '(' .. ARGV[1] .. '\\255'
local found = redis.call('ZRANGEBYLEX', names, from, to, 'LIMIT', 0, 1000)
for _, key in ipairs(found) do redis.call('UNLINK', KEYS[1] .. '${BLOB_KEY.value}' .. key) end
if #found > 0 then redis.call('ZREM', names, unpack(found)) end
return #found
`);
