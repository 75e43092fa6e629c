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
  MARK_ROW,
  SHARD_KEY,
} from "./keys.ts";
import { defineScript } from "./script.ts";

/** Lua: `now()` in milliseconds. */
const NOW = `
local function now()
  local time = redis.call('TIME')
  return time[1] * 1000 + math.floor(time[2] / 1000)
end
`;

/**
 * Lua: versions and the change feed under a base. A version is the server's time in microseconds, but always higher than
 * the last one under the same base. As long as the server's clock does not go back, versions grow with commits over all
 * its bases.
 */
const FEED = `
local function number(value) return string.format('%.0f', value) end

-- The same throughout a call.
local time = redis.call('TIME')
local function version_after(last)
  return math.max(time[1] * 1000000 + time[2], tonumber(last or '0') + 1)
end

-- Trims a feed at about every eighth change.
local function trim_feed(base, version, count, length)
  local feed = base .. '${SHARD_KEY.feed}'
  if version % 8 < count and redis.call('XLEN', feed) > length + length / 16 then
    redis.call('XTRIM', feed, 'MAXLEN', length)
    local first = redis.call('XRANGE', feed, '-', '+', 'COUNT', 1)[1]
    local floor = tonumber(string.match(first[1], '^%d+')) - 1
    redis.call('HSET', base .. '${SHARD_KEY.meta}', 'floor', number(floor))
  end
end

-- Wakes the readers of the feed.
local function publish(base, version, count, channel, length)
  trim_feed(base, version, count, length)
  redis.call('PUBLISH', channel, '')
end
`;

/**
 * Writes commits of shards, each completely or not at all, independently of one another. On a cluster they share a slot.
 *
 * KEYS  1 base of the first shard
 * ARGV  1 channel of the feed
 *       2 length of the feed
 *       3 bytes of the feed, roughly
 *       4 layout of the store
 *       then for each commit
 *       1 base of its shard
 *       2 a list as JSON, see `commits/commit_args.ts`: epoch; session in which the caller writes, '' for none; outbox row that
 *         must have a certain text, '' for none; the text, '' if there must be no such row; the next text of the row that
 *         marks the last commit, which layout 2 keeps elsewhere, '' for none; cursor of the mailbox, '' for none; then lists:
 *         actors (below); outbox ids dropped; outbox ids put; timer ids cleared; times and timer ids set; keys of answers,
 *         their times of expiry, and which actor's version they show; lengths of the texts in bytes
 *       3 the texts: for each actor its index entry, if it has one, the text in whose place the reference is, and the parts
 *         put; of the outbox rows; answers as JSON
 *       An actor is a list: id; flags (c create, r remove, s silent, d no longer has a part that may be a reference, i has an
 *       index entry); how many changes ago it was created or ''; name of what a removal leaves behind or ''; time of the index
 *       entry, its place among those that are waiting or '', its uid; version of the actor, or text of the entry, that the
 *       caller knows ('' for none); how many of the terms are new in comparison with that; terms (new ones first); terms that
 *       are gone; a reference among the parts put or ''; other part keys; parts dropped; parts put
 * Returns  for each commit
 *          {'ok', version …}: one for each actor, '' if nothing changed
 *          {'stale'}: another epoch
 *          {'session'}: another session
 *          {'lost'}: the outbox row has another text
 *          {'exists', actor id}: an actor to be created exists
 *          {'error', text}: Redis refused it
 */
export const COMMIT = defineScript(`
${FEED}
local call, arguments, find, concat = redis.call, ARGV, string.find, table.concat
local layout = arguments[4]

-- The texts of a commit, one after the other.
local texts, lengths, text_number, text_end
local function take_text()
  local from = text_end + 1
  text_number = text_number + 1
  text_end = text_end + lengths[text_number]
  return string.sub(texts, from, text_end)
end
-- Pairs of each key and the next text.
local function with_next_texts(keys)
  local list = {}
  for i, key in ipairs(keys) do
    list[2 * i - 1] = key
    list[2 * i] = take_text()
  end
  return list
end
local function in_slices(list, run)
  for from = 1, #list, 1000 do run(unpack(list, from, math.min(from + 999, #list))) end
end

-- Base of the shard, of the sets of its terms, and the hash of its uids.
local base, term_base, uids

-- Of the feed: highest version that was trimmed, mean memory of a change in bytes, number of changes to keep.
local floor, mean, length

local function has_flag(actor, flag) return find(actor.flags, flag, 1, true) end
local function is_silent(actor) return has_flag(actor, 's') end

-- Version, index entry, other part keys, and the part that may be a reference, of an actor.
local function read_before(actor)
  if has_flag(actor, 'c') and call('EXISTS', actor.key) == 0 then return {} end
  local names = {'${ACTOR_FIELD.version}', '${ACTOR_FIELD.index}', '${ACTOR_FIELD.others}'}
  -- Whether it has a reference in the place of the part.
  if layout ~= '1' then names[4] = 's' end
  local found = call('HMGET', actor.key, unpack(names))
  -- An actor that has lost its version still exists.
  if not found[1] and call('EXISTS', actor.key) == 1 then found[1] = '0' end
  return found
end

-- Whether a reader of the feed may ask for the earlier texts of the parts, and won't find them in earlier changes.
local function needs_texts(actor, version)
  if is_silent(actor) then return false end
  if layout == '1' or #actor.put > 1000 then return true end
  if not version then return false end
  -- The change that created it is there, and will be for a while.
  if actor.age ~= '' and tonumber(actor.age) < length / 2 then return false end
  -- If there is no earlier change, nobody asks what the actor was like after one.
  local last = tonumber(version)
  return last == 0 or last >= floor
end

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
  local entry, terms = cjson.decode(text), common_terms(id)
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
    local header = cjson.decode(call('HGET', base .. '${SHARD_KEY.actor}' .. id, 'h'))
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

local function add_term(actor, term)
  call('ZADD', term_base .. term, term == '${WAIT_TERM}' and actor.place or actor.time, actor.id)
end

local function file_under(actor, old, version)
  if actor.known == (version or '') or actor.known == old then
    for i = 1, actor.fresh do add_term(actor, actor.terms[i]) end
    for _, term in ipairs(actor.gone) do call('ZREM', term_base .. term, actor.id) end
    if not old then call('HSET', uids, actor.uid, actor.id) end
    return
  end
  local before, entry = {}, {}
  if old then before, entry = terms_of(actor.id, old) end
  for _, term in ipairs(actor.terms) do
    add_term(actor, term)
    before[term_base .. term] = nil
  end
  for key in pairs(before) do call('ZREM', key, actor.id) end
  if entry[1] and entry[1] ~= actor.uid then call('HDEL', uids, entry[1]) end
  if entry[1] ~= actor.uid then call('HSET', uids, actor.uid, actor.id) end
end

local function unfile(id, text)
  local terms, entry = terms_of(id, text)
  -- An older program writes entries that do not tell.
  terms[term_base .. '${WAIT_TERM}'] = true
  for key in pairs(terms) do call('ZREM', key, id) end
  if entry[1] then call('HDEL', uids, entry[1]) end
end

-- Earlier texts of the touched parts: their lengths in bytes, '-' for a part that did not exist, then the texts.
local function texts_before(actor)
  local lengths, texts, names = {}, {}, {}
  for i = 1, #actor.put, 2 do names[#names + 1] = actor.put[i] end
  for i = 1, #actor.drop do names[#names + 1] = actor.drop[i] end
  in_slices(names, function(...)
    for _, text in ipairs(call('HMGET', actor.key, ...)) do
      if text then texts[#texts + 1] = text end
      lengths[#lengths + 1] = text and #text or '-'
    end
  end)
  return #texts > 0 and concat(lengths, ' ') .. '\\n' .. concat(texts) or ''
end

local function is_reference(text)
  return layout ~= '1' and text and string.sub(text, 1, 1) == '@'
end

-- One more actor has a text in common with others.
local function hold(reference, text)
  local key = base .. '${SHARD_KEY.shared}' .. reference
  if call('HINCRBY', key, 'n', 1) <= 1 then
    call('HSET', key, 'n', 1, 't', text)
    call('PERSIST', key)
  end
end

-- One actor less has it. Readers of the feed may still ask for it.
local function release(reference)
  if not is_reference(reference) then return end
  local key = base .. '${SHARD_KEY.shared}' .. reference
  if call('HINCRBY', key, 'n', -1) <= 0 then call('PEXPIRE', key, 3600000) end
end

local function text_of(text)
  if not is_reference(text) then return text end
  return call('HGET', base .. '${SHARD_KEY.shared}' .. text, 't')
end

-- Parts of an actor, as JSON: all of them, or all except nodes.
local function parts_of(key, others)
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
  parts.s = text_of(parts.s) or nil
  return next(parts) and cjson.encode(parts) or ''
end

-- A change with all texts in one, as change.ts reads it; lengths are in UTF-16 units.
local function encode_change(actor)
  local keys, sizes, all = {}, {}, {}
  for i = 1, actor.size, 2 do
    local text = actor.put[i + 1]
    local _, inner = string.gsub(text, '[\\128-\\191]', '')
    local _, long = string.gsub(text, '[\\240-\\247]', '')
    keys[#keys + 1], sizes[#sizes + 1], all[#all + 1] = actor.put[i], #text - inner + long, text
  end
  local function list(items) return #items == 0 and '[]' or cjson.encode(items) end
  return '[' .. list(keys) .. ',' .. list(sizes) .. ',' .. list(actor.drop) .. ']\\n' .. concat(all)
end

-- Adds a change to the feed, with the earlier texts of its parts; or nil when nobody needs those here: then the parts are
-- fields of their own, beside the index entry, the one that it replaced, and the keys that were dropped.
local function announce(version, actor, type, index, texts, old)
  if is_silent(actor) then return end
  local entry = {'t', type, 'a', actor.id}
  local function add(field, value)
    entry[#entry + 1] = field
    entry[#entry + 1] = value
  end
  if texts then
    add('c', encode_change(actor))
    if index then add('i', index) end
    if texts ~= '' then add('b', texts) end
  else
    if index then add('${FEED_FIELD.index}', index) end
    if old and old ~= index then add('${FEED_FIELD.indexBefore}', old) end
    if #actor.drop > 0 then add('${FEED_FIELD.dropped}', concat(actor.drop, '\\n')) end
    for i = 1, actor.size do entry[#entry + 1] = actor.put[i] end
  end
  call('XADD', base .. '${SHARD_KEY.feed}', version .. '-0', unpack(entry))
  local size = 0
  for i = 1, #entry do size = size + #entry[i] + 4 end
  -- Redis allocates nodes of 4 KiB and puts as many whole entries into each as there is room for.
  if size < 4096 then size = 4096 / math.floor(4096 / size) end
  mean = mean + (math.min(size + 500, 65536) - mean) / 16
end

-- Notes the keys of new other parts.
local function add_others(others, keys)
  for _, key in ipairs(keys) do
    if not find('\\n' .. others .. '\\n', '\\n' .. key .. '\\n', 1, true) then
      others = others == '' and key or others .. '\\n' .. key
    end
  end
  return others
end

-- Highest version in this call: no two changes of one server have the same version.
local newest = 0

-- What the actor of a commit is; its texts are taken in the order of the list.
local function read_actor(item)
  local actor = {
    id = item[1], flags = item[2], age = item[3], remains = item[4], time = item[5], place = item[6],
    uid = item[7], known = item[8], fresh = item[9], terms = item[10], gone = item[11], reference = item[12],
    others = item[13], drop = item[14]
  }
  actor.key = base .. '${SHARD_KEY.actor}' .. actor.id
  actor.removes = has_flag(actor, 'r')
  if has_flag(actor, 'i') then actor.index = take_text() end
  if actor.reference ~= '' then actor.text = take_text() end
  actor.put = with_next_texts(item[15])
  actor.size = #actor.put
  -- A removal writes and drops nothing by itself.
  if actor.removes then actor.size, actor.drop = 0, {} end
  return actor
end

local function commit(list)
local head = cjson.decode(list)
local epoch, session, row, text, mark, cursor, changes, rows_gone, rows, timers_gone, timers_set, answers = unpack(head, 1, 12)
lengths, text_number, text_end = head[13], 0, 0
term_base, uids = base .. '${SHARD_KEY.term}', base .. '${SHARD_KEY.uids}'
local meta, outbox = base .. '${SHARD_KEY.meta}', base .. '${SHARD_KEY.outbox}'
local lease = call('HMGET', meta, 'epoch', 'session', 'version', 'floor', 'mean', 'mark')
if (lease[1] or '0') ~= epoch then return {'stale'} end
if (lease[2] or '') ~= session then return {'session'} end
if row ~= '' then
  local stored = lease[6]
  if layout == '1' or row ~= '${MARK_ROW}' then stored = call('HGET', outbox, row) end
  if (stored or '') ~= text then return {'lost'} end
end

floor, mean = tonumber(lease[4] or '0'), tonumber(lease[5] or '1024')
length = math.min(tonumber(arguments[2]), math.max(8, math.floor(arguments[3] / mean)))

-- What the changes find. A second change of the same actor finds what the first one has left.
local actors, known = {}, {}
for i, item in ipairs(changes) do
  local actor = read_actor(item)
  if known[actor.id] == nil then
    actor.before = read_before(actor)
    known[actor.id] = actor.before[1]
  end
  if known[actor.id] and has_flag(actor, 'c') then return {'exists', actor.id} end
  known[actor.id] = not actor.removes
  actors[i] = actor
end

local reply, versions = {'ok'}, {}
local version = math.max(version_after(lease[3]) - 1, newest)
for i, actor in ipairs(actors) do
  local before = actor.before or read_before(actor)
  local old = before[2]
  reply[i + 1] = ''
  if not actor.removes or before[1] then
    version = version + 1
    reply[i + 1] = number(version)
    versions[actor.id] = reply[i + 1]
  end
  if not actor.removes then
    local put = actor.put
    -- Of a new actor there are none.
    local earlier
    if needs_texts(actor, before[1]) then earlier = before[1] and texts_before(actor) or '' end
    if actor.reference ~= (before[4] or '') then
      if actor.reference ~= '' then hold(actor.reference, actor.text) end
      if has_flag(actor, 'd') then release(before[4]) end
    end
    in_slices(actor.drop, function(...) call('HDEL', actor.key, ...) end)
    local others = before[3] or ''
    local all = #actor.others > 0 and add_others(others, actor.others) or others
    if all ~= others then
      put[#put + 1] = '${ACTOR_FIELD.others}'
      put[#put + 1] = all
    end
    put[#put + 1] = '${ACTOR_FIELD.version}'
    put[#put + 1] = reply[i + 1]
    if actor.index and actor.index ~= old then
      file_under(actor, old, before[1])
      put[#put + 1] = '${ACTOR_FIELD.index}'
      put[#put + 1] = actor.index
    end
    in_slices(put, function(...) call('HSET', actor.key, ...) end)
    announce(reply[i + 1], actor, before[1] and 'M' or 'A', actor.index or old, earlier, old)
  elseif before[1] then
    local leaves = actor.remains ~= ''
    local parts = is_silent(actor) and '' or parts_of(actor.key, leaves and (before[3] or ''))
    if old then unfile(actor.id, old) end
    if leaves and is_reference(before[4]) then call('HSET', actor.key, 's', text_of(before[4]) or '') end
    release(before[4])
    if leaves then
      call('HDEL', actor.key, '${ACTOR_FIELD.version}', '${ACTOR_FIELD.index}', '${ACTOR_FIELD.others}')
      if call('EXISTS', actor.key) == 1 then
        call('RENAME', actor.key, base .. '${SHARD_KEY.remains}' .. actor.remains)
      end
    else
      call('UNLINK', actor.key)
    end
    announce(reply[i + 1], actor, 'D', old, parts)
  end
end

local news = {}
local function note(field, value)
  news[#news + 1] = field
  news[#news + 1] = value
end
newest = math.max(newest, version)
if #actors > 0 then
  note('version', number(version))
  -- From time to time is often enough.
  if version % 8 < #actors then note('mean', number(mean)) end
end
if not lease[1] then note('epoch', epoch) end
if mark ~= '' then note('mark', mark) end
if cursor ~= '' then note('cursor', cursor) end
if #news > 0 then call('HSET', meta, unpack(news)) end
if #actors > 0 then trim_feed(base, version, #actors, length) end

local timers = base .. '${SHARD_KEY.timers}'
in_slices(rows_gone, function(...) call('HDEL', outbox, ...) end)
in_slices(with_next_texts(rows), function(...) call('HSET', outbox, ...) end)
in_slices(timers_gone, function(...) call('ZREM', timers, ...) end)
in_slices(timers_set, function(...) call('ZADD', timers, ...) end)
for _, answer in ipairs(answers) do
  local text, version = take_text(), versions[answer[3]]
  if version then text = string.sub(text, 1, -2) .. ',"version":"' .. version .. '"}' end
  call('SET', base .. '${SHARD_KEY.answer}' .. answer[1], text, 'PXAT', answer[2])
end
if cursor ~= '' then
  local milliseconds, sequence = string.match(cursor, '^(%d+)%-(%d+)$')
  call('XTRIM', base .. '${SHARD_KEY.mail}', 'MINID', milliseconds .. '-' .. number(sequence + 1))
end
return reply
end

local replies = {}
for at = 5, #arguments, 3 do
  base, texts = arguments[at], arguments[at + 2]
  local done, reply = pcall(commit, arguments[at + 1])
  if not done then reply = {'error', type(reply) == 'table' and reply.err or tostring(reply)} end
  replies[#replies + 1] = reply
end
call('PUBLISH', arguments[1], '')
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
 * Takes the lease of a free or expired shard, or renews the lease of the caller itself, under a new epoch.
 *
 * KEYS  1 base of the shard
 * ARGV  1 replica, 2 term in milliseconds
 * Returns  0 if another replica holds it; else {epoch, when the lease of a former owner ran out, '' if it gave it back}
 */
export const ACQUIRE = defineScript(`
${NOW}
local meta = KEYS[1] .. '${SHARD_KEY.meta}'
local lease = redis.call('HMGET', meta, 'epoch', 'owner', 'until')
local time = now()
local held = lease[2] and tonumber(lease[3]) > time
if held and lease[2] ~= ARGV[1] then return 0 end
local epoch = tonumber(lease[1] or '0') + 1
redis.call('HDEL', meta, 'session')
redis.call('HSET', meta, 'epoch', epoch, 'owner', ARGV[1], 'until', time + ARGV[2])
local expired = lease[2] and lease[2] ~= ARGV[1] and lease[3]
return {epoch, expired or ''}
`);

/**
 * Extends leases that nobody else has taken. On a cluster they share a slot.
 *
 * KEYS  1 base of the first shard
 * ARGV  1 replica, 2 term in milliseconds, then for each lease: base of its shard, epoch
 * Returns  for each 1, or 0 if it is lost
 */
export const RENEW = defineScript(`
${NOW}
local until_when, held = now() + ARGV[2], {}
for at = 3, #ARGV, 2 do
  local meta = ARGV[at] .. '${SHARD_KEY.meta}'
  local lease = redis.call('HMGET', meta, 'epoch', 'owner')
  local is_held = lease[1] == ARGV[at + 1] and lease[2] == ARGV[1]
  if is_held then redis.call('HSET', meta, 'until', until_when) end
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
 * Announces a replica.
 *
 * KEYS  1 sorted set of replicas
 * ARGV  1 replica, 2 term in milliseconds
 * Returns  1
 */
export const HEARTBEAT = defineScript(`
${NOW}
redis.call('ZREMRANGEBYSCORE', KEYS[1], '-inf', now() - 3600000)
redis.call('ZADD', KEYS[1], now() + ARGV[2], ARGV[1])
return 1
`);

/**
 * Live replicas.
 *
 * KEYS  1 sorted set of replicas
 * Returns  their names
 */
export const REPLICAS = defineScript(`
${NOW}
return redis.call('ZRANGEBYSCORE', KEYS[1], '(' .. now(), '+inf')
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
 *       4 record as JSON, 5 id in the feed, 6 encoded change, 7 channel of the feed, 8 length of the feed
 * Returns  {'ok', version}, {'exists'}, {'missing'} or {'changed'}
 */
export const PUT_MANIFEST = defineScript(`
${FEED}
local base = KEYS[1]
local records = base .. '${MANIFEST_KEY.records}' .. ARGV[1]
local before = redis.call('HGET', records, ARGV[2])
if ARGV[3] == '' then
  if before then return {'exists'} end
elseif ARGV[3] ~= '*' then
  if not before then return {'missing'} end
  if string.match(before, '^%d+') ~= ARGV[3] then return {'changed'} end
end
local version = version_after(redis.call('HGET', base .. '${SHARD_KEY.meta}', 'version'))
redis.call('HSET', base .. '${SHARD_KEY.meta}', 'version', number(version))
redis.call('HSET', records, ARGV[2], number(version) .. ' ' .. ARGV[4])
redis.call('ZADD', base .. '${MANIFEST_KEY.order}' .. ARGV[1], 0, ARGV[2])
redis.call('XADD', base .. '${SHARD_KEY.feed}', number(version) .. '-0', 't', before and 'M' or 'A', 'a', ARGV[5], 'c', ARGV[6])
publish(base, version, 1, ARGV[7], tonumber(ARGV[8]))
return {'ok', number(version)}
`);

/**
 * Removes a manifest if it has the expected version.
 *
 * KEYS  1 base of the manifests
 * ARGV  1 kind, 2 place, 3 expected version ('' = any), 4 id in the feed, 5 encoded change, 6 channel of the feed,
 *       7 length of the feed
 * Returns  what was stored (version, space, record), or nil if nothing was removed
 */
export const REMOVE_MANIFEST = defineScript(`
${FEED}
local base = KEYS[1]
local records = base .. '${MANIFEST_KEY.records}' .. ARGV[1]
local before = redis.call('HGET', records, ARGV[2])
if not before then return false end
if ARGV[3] ~= '' and string.match(before, '^%d+') ~= ARGV[3] then return false end
local version = version_after(redis.call('HGET', base .. '${SHARD_KEY.meta}', 'version'))
redis.call('HSET', base .. '${SHARD_KEY.meta}', 'version', number(version))
redis.call('HDEL', records, ARGV[2])
redis.call('ZREM', base .. '${MANIFEST_KEY.order}' .. ARGV[1], ARGV[2])
redis.call('XADD', base .. '${SHARD_KEY.feed}', number(version) .. '-0', 't', 'D', 'a', ARGV[4], 'c', ARGV[5])
publish(base, version, 1, ARGV[6], tonumber(ARGV[7]))
return before
`);

/**
 * Empties a mailbox and makes all versions so far too old. Used by `clear`, which removes the other keys itself.
 *
 * KEYS  1 base of a shard or of the manifests
 * Returns  1
 */
export const RESET_FEED = defineScript(`
${FEED}
local base = KEYS[1]
if redis.call('EXISTS', base .. '${SHARD_KEY.mail}') == 1 then
  redis.call('XTRIM', base .. '${SHARD_KEY.mail}', 'MAXLEN', 0)
end
local version = number(version_after(redis.call('HGET', base .. '${SHARD_KEY.meta}', 'version')))
redis.call('HSET', base .. '${SHARD_KEY.meta}', 'version', version, 'floor', version)
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
