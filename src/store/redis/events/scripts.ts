/**
 * The atomic steps of the event queue, as Lua. The queue is a stream with one consumer group. An entry holds events that
 * came at the same time; once taken, it stays pending until all of them have ended, and its idle time tells how long its
 * worker has been silent. An event is in the queue as long as `places` has it. KEYS[1] is always the base of the events.
 */
import { EVENT_GROUP, EVENT_KEY, LATER, SHARD_KEY } from "../keys.ts";
import { defineScript } from "../script.ts";

/** Most events in one entry, and the characters that fill it earlier: an entry is taken or claimed as a whole. */
const MAX_IN_ENTRY = 32;
const MAX_ENTRY_SIZE = 1 << 18;
/** So many make a place longer than 64 bytes: a hash with shorter values only is a list, in which Redis searches from the start. */
const PLACE_DIGITS = 52;
/**
 * A sorted set with a few short members is a list as well, and stays a tree once it has had a long member. The events that
 * wait come and go one by one, at the end of that list.
 */
const LONG_MEMBER = "-".repeat(65);
/** Taken entries of which a look asks whether they were taken before the clock went back, oldest first. */
const MAX_AHEAD = 100;

const COMMON = `
local base = KEYS[1]
local queue, places = base .. '${EVENT_KEY.queue}', base .. '${EVENT_KEY.places}'
local later, held = base .. '${EVENT_KEY.later}', base .. '${EVENT_KEY.held}'
local deliveries = base .. '${EVENT_KEY.deliveries}'

-- Version of the manifests under a base; '' if they are on another server.
local function version_of(manifests)
  if manifests == '' then return '' end
  return redis.call('HGET', manifests .. '${SHARD_KEY.meta}', 'version') or '0'
end

local function by_time(namespace, state)
  return base .. '${EVENT_KEY.byTime}' .. namespace .. ':' .. state
end

local function now()
  local time = redis.call('TIME')
  return time[1] * 1000 + math.floor(time[2] / 1000)
end

-- Writes delivery records of one namespace and state, from their ids, flat lists of times and ids and of ids and records.
-- 'before' lists the states that they may be in now.
local function save_deliveries(namespace, state, ids, times, records, before)
  redis.call('HSET', deliveries, unpack(records))
  for _, other in ipairs(before) do
    if other ~= state then redis.call('ZREM', by_time(namespace, other), unpack(ids)) end
  end
  redis.call('ZADD', by_time(namespace, state), unpack(times))
end

-- Calls a command on the group; creates the group if it is missing.
local function in_group(...)
  local reply = redis.pcall(...)
  if type(reply) ~= 'table' or not reply.err then return reply end
  if not string.find(reply.err, 'NOGROUP') then error(reply.err) end
  redis.call('XGROUP', 'CREATE', queue, '${EVENT_GROUP}', '0', 'MKSTREAM')
  return redis.call(...)
end

-- Queues events, from a flat list of id and content. A place is an entry and the number of its events. Returns of each
-- entry its id, and from where to where its events are in the list.
local function append(events)
  local from, entries = 1, {}
  while from < #events do
    local to, size = from + 1, #events[from + 1]
    while to < #events and to - from < ${2 * MAX_IN_ENTRY - 1} and size < ${MAX_ENTRY_SIZE} do
      to = to + 2
      size = size + #events[to]
    end
    local entry = redis.call('XADD', queue, '*', unpack(events, from, to))
    local place, placed = string.format('%s %0${PLACE_DIGITS}d', entry, (to - from + 1) / 2), {}
    for i = from, to, 2 do
      placed[#placed + 1] = events[i]
      placed[#placed + 1] = place
    end
    redis.call('HSET', places, unpack(placed))
    entries[#entries + 1] = {entry, from, to}
    from = to + 1
  end
  return entries
end

-- The entry of a place; nil for events that are in none.
local function entry_of(place)
  return place and string.match(place, '^(%d+%-%d+) %d+$')
end

-- True for a place that no program of ours has written: nobody knows where such an event is.
local function is_broken(place)
  return place and place ~= '${LATER}' and not entry_of(place)
end

local function remove_entry(entry)
  redis.call('XACK', queue, '${EVENT_GROUP}', entry)
  redis.call('XDEL', queue, entry)
end

-- Notes that events have left an entry; the entry is removed with the last one.
local function leave(place, count)
  local entry = entry_of(place)
  if not entry then return end
  local size = tonumber(string.match(place, '%d+$'))
  if count < size then
    count = redis.call('HINCRBY', base .. '${EVENT_KEY.left}', entry, count)
    if count < size then return end
    redis.call('HDEL', base .. '${EVENT_KEY.left}', entry)
  end
  remove_entry(entry)
end

-- How often a taken entry was claimed from silent workers.
local function claims(entry)
  local pending = in_group('XPENDING', queue, '${EVENT_GROUP}', entry, entry, 1)[1]
  return pending and pending[4] - 1 or 0
end

-- The contents of an entry by event id, including events that have left it.
local function contents_of(entry)
  local found, contents = redis.call('XRANGE', queue, entry, entry)[1], {}
  local fields = found and found[2] or {}
  for i = 1, #fields, 2 do contents[fields[i]] = fields[i + 1] end
  return contents
end
`;

/**
 * Lua: `take` takes events, first those of silent workers, then new ones. Events whose retry is due are queued first.
 * Result: milliseconds until the next retry is due (-1 = never, -2 = and there is no event at all), version of the
 * manifests, then content and claims of each event.
 */
const TAKING = `
-- 'number': there may be a few more. 'silence': milliseconds after which an event is claimed; 'looks': '1' to look for
-- silent workers. 'manifests': base of the manifests; '' if they are on another server. 'own': ids of events whose content
-- the caller has; their ids are returned instead. 'queued': what this call has queued last, 'entries': where.
local function take(own, queued, entries, channel, worker, number, silence, looks, manifests)
  local wanted, time, due = tonumber(number), now(), {}
  local back = redis.call('ZRANGEBYSCORE', later, '-inf', time, 'LIMIT', 0, wanted)
  if #back > 0 then
    for i, content in ipairs(redis.call('HMGET', held, unpack(back))) do
      due[2 * i - 1] = back[i]
      due[2 * i] = content or ''
    end
    append(due)
    redis.call('HDEL', held, unpack(back))
    redis.call('ZREM', later, unpack(back))
  end

  local reply, taken = {-1, version_of(manifests)}, 0
  -- Events of an entry that have ended or were given back are not taken again.
  local function add(entry, more)
    local fields, ids, gone = entry[2], {}, {}
    if redis.call('HEXISTS', base .. '${EVENT_KEY.left}', entry[1]) == 1 then
      for i = 1, #fields, 2 do ids[#ids + 1] = fields[i] end
      for i, place in ipairs(redis.call('HMGET', places, unpack(ids))) do
        gone[2 * i] = entry_of(place) ~= entry[1] and not is_broken(place)
      end
    end
    for i = 2, #fields, 2 do
      if not gone[i] then
        taken = taken + 1
        reply[#reply + 1] = more == 0 and own[fields[i - 1]] and fields[i - 1] or fields[i]
        reply[#reply + 1] = more
      end
    end
  end
  -- So few entries that they can't hold more events than wanted, but at least one.
  local function entries_left() return math.max(1, math.floor((wanted - taken) / ${MAX_IN_ENTRY})) end

  if looks == '1' then
    -- What a worker took before the clock went back would not count as idle until the clock has caught up. Only for that, or
    -- for what was taken in this very millisecond, does the server tell 0.
    for _, pending in ipairs(in_group('XPENDING', queue, '${EVENT_GROUP}', '-', '+', ${MAX_AHEAD})) do
      if pending[3] == 0 then
        in_group('XCLAIM', queue, '${EVENT_GROUP}', pending[2], 0, pending[1], 'IDLE', 0, 'JUSTID')
      end
    end
    local from = '0-0'
    repeat
      local claimed = in_group('XAUTOCLAIM', queue, '${EVENT_GROUP}', worker, silence, from, 'COUNT', entries_left())
      from = claimed[1]
      for _, entry in ipairs(claimed[2]) do
        if entry then
          local before = taken
          add(entry, claims(entry[1]))
          -- None of its events is filed any more: somebody removed them in another way.
          if taken == before then
            redis.call('HDEL', base .. '${EVENT_KEY.left}', entry[1])
            remove_entry(entry[1])
          end
        end
      end
    until from == '0-0' or taken >= wanted
  end
  -- If nothing waits before them, the entries of this call go to the worker unread.
  local group = entries[1] and redis.call('XINFO', 'GROUPS', queue)[1]
  local given = group and group[8] or '0-0'
  if entries[1] and #redis.call('XRANGE', queue, '(' .. given, '(' .. entries[1][1], 'COUNT', 1) == 0 then
    for _, entry in ipairs(entries) do
      if taken >= wanted then break end
      local id = entry[1]
      in_group('XCLAIM', queue, '${EVENT_GROUP}', worker, 0, id, 'FORCE', 'JUSTID', 'LASTID', id)
      for i = entry[2], entry[3], 2 do
        taken = taken + 1
        reply[#reply + 1] = queued[i]
        reply[#reply + 1] = 0
      end
    end
  end
  while taken < wanted do
    local count = entries_left()
    local fresh = in_group('XREADGROUP', 'GROUP', '${EVENT_GROUP}', worker, 'COUNT', count, 'STREAMS', queue, '>')
    local entries = fresh and fresh[1][2] or {}
    for _, entry in ipairs(entries) do add(entry, 0) end
    if #entries < count then break end
  end

  -- There may be more events for other workers.
  if taken >= wanted then redis.call('PUBLISH', channel, '') end
  local next = redis.call('ZRANGE', later, 0, 0, 'WITHSCORES')[2]
  if next then
    reply[1] = math.max(1, math.ceil(next - time))
  elseif redis.call('HLEN', places) == 0 then
    reply[1] = -2
  end
  return reply
end
`;

/** Lua: `finish` ends events that are still in the queue and writes their delivery records. */
const FINISHING = `
-- From this argument to the last: number of runs; then for each run of events with the same namespace and state: its
-- length, the namespace, the state; then the ids of all; then for each event: time, delivery record as JSON.
local function finish(from)
  local first = from + 1 + 3 * tonumber(ARGV[from])
  local n = (#ARGV - first + 1) / 3
  local found = redis.call('HMGET', places, unpack(ARGV, first, first + n - 1))
  local waited, leaving, ended, i = {}, {}, {}, 0
  for run = from + 1, first - 1, 3 do
    local ids, times, records, last = {}, {}, {}, 0
    for _ = 1, ARGV[run] do
      local id, place = ARGV[first + i], found[i + 1]
      if place and not ended[id] then
        ended[id] = true
        last = last + 1
        if place == '${LATER}' then waited[#waited + 1] = id else leaving[place] = (leaving[place] or 0) + 1 end
        ids[last] = id
        times[2 * last - 1], times[2 * last] = ARGV[first + n + 2 * i], id
        records[2 * last - 1], records[2 * last] = id, ARGV[first + n + 2 * i + 1]
      end
      i = i + 1
    end
    if last > 0 then save_deliveries(ARGV[run + 1], ARGV[run + 2], ids, times, records, {'queued'}) end
  end
  if not next(ended) then return end
  if #waited > 0 then
    redis.call('ZREM', later, unpack(waited))
    redis.call('HDEL', held, unpack(waited))
  end
  for place, left in pairs(leaving) do leave(place, left) end
  redis.call('HDEL', places, unpack(ARGV, first, first + n - 1))
end
`;

/**
 * Queues events, except those that repeat an earlier one or find the queue full. An event has no record until it has an
 * outcome; a replayed event loses its earlier record. Before that, events end that have ended meanwhile; after it a waiting
 * worker takes events.
 *
 * KEYS  1 base
 * ARGV  1 channel, 2 worker that takes ('' = nobody), 3 number, 4 silence, 5 whether to look for silent workers, 6 base of
 *       the manifests, 7 version that the manifests must have ('' = any), 8 number n of events, 9 number of runs, 10 which
 *       argument is the first of those for `finish` ('' = none); then for each run of events with the same bound and
 *       namespace: its length, the bound, the namespace; then n ids, n contents, n times; then for each event with a
 *       deduplication key: its number, the key, the fingerprint, the time when the key expires; then what `finish` reads
 * Returns  {'stale'} if the manifests have another version; nothing was queued or taken, or
 *          {for each event that was not accepted: its number, 'full' | 'duplicate' | 'mismatch', the event that is meant},
 *          then the result of `take`, with ids instead of contents for events accepted in this call
 */
export const OFFER = defineScript(`
${COMMON}
${FINISHING}
${TAKING}
if ARGV[10] ~= '' then finish(tonumber(ARGV[10])) end
if ARGV[7] ~= '' and ARGV[7] ~= version_of(ARGV[6]) then return {'stale'} end
local n, runs = tonumber(ARGV[8]), tonumber(ARGV[9])
local ids = 10 + 3 * runs
local contents, times = ids + n, ids + 2 * n
local known, keyed = redis.call('HMGET', places, unpack(ARGV, ids + 1, ids + n)), {}
for i = ids + 3 * n + 1, (tonumber(ARGV[10]) or #ARGV + 1) - 1, 4 do keyed[tonumber(ARGV[i])] = i end

local refused, accepted, fresh, own, queued, entries = {}, {}, {}, {}, {}, {}
local count, i = redis.call('HLEN', places), 0
local function refuse(result, id)
  refused[#refused + 1] = i
  refused[#refused + 1] = result
  refused[#refused + 1] = id
end
for run = 11, ids, 3 do
  local bound, namespace = tonumber(ARGV[run + 1]), ARGV[run + 2]
  local list = queued[namespace] or {}
  for _ = 1, ARGV[run] do
    i = i + 1
    local id, key = ARGV[ids + i], keyed[i]
    local marker = key and base .. '${EVENT_KEY.dedupe}' .. ARGV[key + 1]
    local before = marker and redis.call('GET', marker)
    if before then
      local first, fingerprint = string.match(before, '^(.-) (.*)$')
      refuse(fingerprint == ARGV[key + 2] and 'duplicate' or 'mismatch', first)
    elseif known[i] or own[id] then
      refuse('duplicate', id)
    elseif count >= bound then
      refuse('full', id)
    else
      count = count + 1
      own[id] = true
      fresh[#fresh + 1] = id
      accepted[#accepted + 1] = id
      accepted[#accepted + 1] = ARGV[contents + i]
      list[#list + 1] = ARGV[times + i]
      list[#list + 1] = id
      queued[namespace] = list
      if marker then redis.call('SET', marker, id .. ' ' .. ARGV[key + 2], 'PXAT', ARGV[key + 3]) end
    end
  end
end
if #fresh > 0 then
  entries = append(accepted)
  for namespace, list in pairs(queued) do
    local waiting = by_time(namespace, 'queued')
    redis.call('ZADD', waiting, 0, '${LONG_MEMBER}', unpack(list))
    redis.call('ZREM', waiting, '${LONG_MEMBER}')
    redis.call('SADD', base .. '${EVENT_KEY.namespaces}', namespace)
  end
  if redis.call('HDEL', deliveries, unpack(fresh)) > 0 then
    for namespace in pairs(queued) do
      redis.call('ZREM', by_time(namespace, 'done'), unpack(fresh))
      redis.call('ZREM', by_time(namespace, 'dead'), unpack(fresh))
    end
  end
end
if ARGV[2] ~= '' then return {refused, take(own, accepted, entries, unpack(ARGV, 1, 6))} end
if #fresh > 0 then redis.call('PUBLISH', ARGV[1], '') end
return {refused}
`);

/**
 * Takes events.
 *
 * KEYS  1 base
 * ARGV  1 channel, 2 worker, 3 number, 4 silence, 5 whether to look for silent workers, 6 base of the manifests
 * Returns  as `take`
 */
export const TAKE = defineScript(`
${COMMON}
${TAKING}
return take({}, {}, {}, unpack(ARGV))
`);

/**
 * Notes that a worker still works on events; this counts for all events of their entries.
 *
 * KEYS  1 base
 * ARGV  1 worker, then event ids
 * Returns  how many of these entries it still has
 */
export const TOUCH = defineScript(`
${COMMON}
local touched, seen = 0, {}
for i = 2, #ARGV do
  local place = redis.call('HGET', places, ARGV[i])
  local entry = entry_of(place)
  if entry and not seen[place] then
    seen[place] = true
    if #in_group('XPENDING', queue, '${EVENT_GROUP}', entry, entry, 1, ARGV[1]) > 0 then
      redis.call('XCLAIM', queue, '${EVENT_GROUP}', ARGV[1], 0, entry, 'JUSTID')
      touched = touched + 1
    end
  end
end
return touched
`);

/**
 * Ends events that are still in the queue and writes their delivery records.
 *
 * KEYS  1 base
 * ARGV  as `finish` reads them
 * Returns  nil
 */
export const FINISH = defineScript(`
${COMMON}
${FINISHING}
finish(1)
`);

/**
 * What a worker has taken and not ended yet, as stored in the queue: used when something could not be read.
 *
 * KEYS  1 base
 * ARGV  1 worker
 * Returns  for each event: its entry, its id, its content, how often it was claimed, '1' if it is filed in that entry
 */
export const READ_TAKEN = defineScript(`
${COMMON}
local reply = {}
for _, pending in ipairs(in_group('XPENDING', queue, '${EVENT_GROUP}', '-', '+', 1000, ARGV[1])) do
  local entry = pending[1]
  local found = redis.call('XRANGE', queue, entry, entry)[1]
  local fields = found and found[2] or {}
  local has_left = redis.call('HEXISTS', base .. '${EVENT_KEY.left}', entry) == 1
  for i = 1, #fields, 2 do
    local place = redis.call('HGET', places, fields[i])
    local is_placed = entry_of(place) == entry
    if is_placed or not has_left or is_broken(place) then
      reply[#reply + 1] = entry
      reply[#reply + 1] = fields[i]
      reply[#reply + 1] = fields[i + 1]
      reply[#reply + 1] = tostring(pending[4] - 1)
      reply[#reply + 1] = is_placed and '1' or ''
    end
  end
end
return reply
`);

/**
 * When the oldest of the events that are filed as queued was received.
 *
 * KEYS  1 base
 * ARGV  namespaces
 * Returns  its time, or nil if there is none
 */
export const OLDEST = defineScript(`
${COMMON}
local oldest
for _, namespace in ipairs(ARGV) do
  local time = redis.call('ZRANGE', by_time(namespace, 'queued'), 0, 0, 'WITHSCORES')[2]
  if time and (not oldest or tonumber(time) < tonumber(oldest)) then oldest = time end
end
return oldest or false
`);

/**
 * The namespaces and times under which events are filed as queued.
 *
 * KEYS  1 base
 * ARGV  event ids
 * Returns  for each: its namespace and its time, or nil twice
 */
export const FIND_FILED = defineScript(`
${COMMON}
local namespaces, reply = redis.call('SMEMBERS', base .. '${EVENT_KEY.namespaces}'), {}
for i, id in ipairs(ARGV) do
  reply[2 * i - 1], reply[2 * i] = false, false
  for _, namespace in ipairs(namespaces) do
    local time = redis.call('ZSCORE', by_time(namespace, 'queued'), id)
    if time then reply[2 * i - 1], reply[2 * i] = namespace, time end
  end
end
return reply
`);

/**
 * Ends an event that can't be read, whether it is filed as queued or not, and writes its delivery record. If no other
 * event of the entry is filed, the entry is removed.
 *
 * KEYS  1 base
 * ARGV  1 entry, 2 event id as stored there, 3 namespace, 4 id of the record, 5 time, 6 delivery record as JSON
 * Returns  nil
 */
export const FINISH_UNREADABLE = defineScript(`
${COMMON}
local entry, id = ARGV[1], ARGV[2]
local place = redis.call('HGET', places, id)
save_deliveries(ARGV[3], 'dead', {ARGV[4]}, {ARGV[5], ARGV[4]}, {ARGV[4], ARGV[6]}, {'queued'})
redis.call('SADD', base .. '${EVENT_KEY.namespaces}', ARGV[3])
local lies = entry_of(place)
if lies == entry or is_broken(place) then
  redis.call('HDEL', places, id)
  redis.call('ZREM', by_time(ARGV[3], 'queued'), id)
end
if lies == entry then return leave(place, 1) end
for other in pairs(contents_of(entry)) do
  if entry_of(redis.call('HGET', places, other)) == entry then return end
end
redis.call('HDEL', base .. '${EVENT_KEY.left}', entry)
remove_entry(entry)
`);

/**
 * Replaces the record of an event that has ended.
 *
 * KEYS  1 base
 * ARGV  1 id, 2 namespace, 3 time, 4 state, 5 delivery record as JSON
 * Returns  1, or 0 if there is no record or the event is in the queue
 */
export const AMEND = defineScript(`
${COMMON}
if redis.call('HEXISTS', places, ARGV[1]) == 1 then return 0 end
if redis.call('HEXISTS', deliveries, ARGV[1]) == 0 then return 0 end
save_deliveries(ARGV[2], ARGV[4], {ARGV[1]}, {ARGV[3], ARGV[1]}, {ARGV[1], ARGV[5]}, {'done', 'dead'})
return 1
`);

/**
 * Gives an event back, to be taken again later.
 *
 * KEYS  1 base
 * ARGV  1 id, 2 namespace, 3 time, 4 state, 5 delivery record as JSON, 6 milliseconds until it comes back, 7 channel
 * Returns  1, or 0 if it is no longer in the queue
 */
export const RETRY_LATER = defineScript(`
${COMMON}
local id = ARGV[1]
local place = redis.call('HGET', places, id)
if not place then return 0 end
local attempts, event
if place == '${LATER}' then
  attempts, event = string.match(redis.call('HGET', held, id) or '', '^(%d+) (.*)$')
  if not attempts then return 0 end
else
  local entry = entry_of(place)
  attempts, event = string.match(entry and contents_of(entry)[id] or '', '^(%d+) (.*)$')
  if not attempts then return 0 end
  attempts = attempts + claims(entry)
  leave(place, 1)
end
redis.call('HSET', places, id, '${LATER}')
redis.call('HSET', held, id, string.format('%d', attempts + 1) .. ' ' .. event)
redis.call('ZADD', later, now() + ARGV[6], id)
save_deliveries(ARGV[2], ARGV[4], {id}, {ARGV[3], id}, {id, ARGV[5]}, {'queued'})
redis.call('PUBLISH', ARGV[7], '')
return 1
`);

/**
 * The records of events.
 *
 * KEYS  1 base
 * ARGV  event ids, at most 1,000
 * Returns  for each: its delivery record as JSON, or nil; then, if there is none, the content of the event in the queue,
 *          or nil
 */
export const RECORDS = defineScript(`
${COMMON}
local reply, read = {}, {}
for i, record in ipairs(redis.call('HMGET', deliveries, unpack(ARGV))) do
  local id = ARGV[i]
  local entry = not record and entry_of(redis.call('HGET', places, id))
  if entry and not read[entry] then read[entry] = contents_of(entry) end
  reply[2 * i - 1] = record
  reply[2 * i] = entry and read[entry][id] or false
end
return reply
`);

/**
 * Drops the excess and the old delivery records of one namespace, unless their events are in the queue. Also forgets
 * workers that have no events and were silent for an hour.
 *
 * KEYS  1 base
 * ARGV  1 namespace, 2 number of records to keep, 3 their age in milliseconds, 4… ids of records that stay
 * Returns  how many records were dropped, at most 1,000 of each state
 */
export const TRIM_DELIVERIES = defineScript(`
${COMMON}
local dropped, kept, most = 0, {}, 1000 + #ARGV - 3
for i = 4, #ARGV do kept[ARGV[i]] = true end
local function drop(state, all)
  local ids = {}
  for _, id in ipairs(all) do
    if not kept[id] and #ids < 1000 then ids[#ids + 1] = id end
  end
  if #ids == 0 then return end
  redis.call('HDEL', deliveries, unpack(ids))
  redis.call('ZREM', by_time(ARGV[1], state), unpack(ids))
  dropped = dropped + #ids
end

for _, state in ipairs({'done', 'dead'}) do
  drop(state, redis.call('ZRANGEBYSCORE', by_time(ARGV[1], state), '-inf', '(' .. (now() - ARGV[3]), 'LIMIT', 0, most))
end

local function count_of(states)
  local count = 0
  for _, state in ipairs(states) do count = count + redis.call('ZCARD', by_time(ARGV[1], state)) end
  return count
end

-- The oldest of some states are dropped, except those of queued events.
local function trim(states)
  local excess, oldest = math.min(most, count_of(states) - ARGV[2]), {}
  for _, state in ipairs(excess > 0 and states or {}) do
    local found = redis.call('ZRANGE', by_time(ARGV[1], state), 0, excess - 1, 'WITHSCORES')
    for i = 1, #found, 2 do
      oldest[#oldest + 1] = {state = state, id = found[i], time = tonumber(found[i + 1])}
    end
  end
  table.sort(oldest, function(a, b)
    if a.time ~= b.time then return a.time < b.time end
    return a.id < b.id
  end)
  local gone = {queued = {}, done = {}, dead = {}}
  for i = 1, math.min(excess, #oldest) do
    local list = gone[oldest[i].state]
    list[#list + 1] = oldest[i].id
  end
  drop('done', gone.done)
  drop('dead', gone.dead)
end
trim({'queued', 'done'})
-- Dead letters have a bound of their own.
trim({'dead'})
if count_of({'queued', 'done', 'dead'}) == 0 then
  redis.call('SREM', base .. '${EVENT_KEY.namespaces}', ARGV[1])
end

local found, consumers = pcall(redis.call, 'XINFO', 'CONSUMERS', queue, '${EVENT_GROUP}')
for _, consumer in ipairs(found and consumers or {}) do
  if consumer[4] == 0 and consumer[6] > 3600000 then
    redis.call('XGROUP', 'DELCONSUMER', queue, '${EVENT_GROUP}', consumer[2])
  end
end
return dropped
`);
