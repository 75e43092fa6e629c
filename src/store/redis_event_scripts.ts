/**
 * The atomic steps of the event queue, as Lua. The queue is a stream with one consumer group: an entry that was taken stays
 * pending until it is ended, and its idle time tells how long its worker has been silent. An event is in the queue while
 * `places` has it. KEYS[1] is always the base of the events.
 */
import { EVENT_GROUP, EVENT_KEY, LATER } from "./redis_keys.ts";
import { defineScript } from "./redis_script.ts";

const COMMON = `
local base = KEYS[1]
local queue, places = base .. '${EVENT_KEY.queue}', base .. '${EVENT_KEY.places}'
local later, held = base .. '${EVENT_KEY.later}', base .. '${EVENT_KEY.held}'
local deliveries = base .. '${EVENT_KEY.deliveries}'

local function by_time(namespace, state)
  return base .. '${EVENT_KEY.byTime}' .. namespace .. ':' .. state
end

local function now()
  local time = redis.call('TIME')
  return time[1] * 1000 + math.floor(time[2] / 1000)
end

local function in_slices(list, call)
  for from = 1, #list, 1000 do call(unpack(list, from, math.min(from + 999, #list))) end
end

-- Calls a command once for each key, with all that was gathered for it.
local function for_each_key(command, gathered)
  for key, list in pairs(gathered) do
    in_slices(list, function(...) redis.call(command, key, ...) end)
  end
end

local function gather(gathered, key, ...)
  local list = gathered[key] or {}
  gathered[key] = list
  for _, item in ipairs({...}) do list[#list + 1] = item end
end

-- Writes delivery records: a flat list of id, namespace, time, state, record. 'before' has the states they may be in now.
local function save_deliveries(list, before)
  local records, places, gone = {}, {}, {}
  for i = 1, #list, 5 do
    local id, time, state = list[i], list[i + 2], list[i + 3]
    records[#records + 1] = id
    records[#records + 1] = list[i + 4]
    gather(places, by_time(list[i + 1], state), time, id)
    for _, other in ipairs(before) do
      if other ~= state then gather(gone, by_time(list[i + 1], other), id) end
    end
  end
  in_slices(records, function(...) redis.call('HSET', deliveries, ...) end)
  for_each_key('ZREM', gone)
  for_each_key('ZADD', places)
end

-- How often a taken entry was claimed from a silent worker.
local function claims(place)
  local pending = redis.call('XPENDING', queue, '${EVENT_GROUP}', place, place, 1)[1]
  return pending and pending[4] - 1 or 0
end
`;

/**
 * Puts events into the queue, each unless the queue is full or it is a repeat. There is no record of an event until
 * something became of it; that of an earlier time, when it was replayed, goes.
 *
 * KEYS  1 base
 * ARGV  1 channel, then for each event: id, event as JSON, bound, namespace, time, deduplication key ('' = none),
 *       fingerprint, time when the key expires
 * Returns  for each event: 'accepted' | 'full' | 'duplicate' | 'mismatch', event id
 */
export const OFFER = defineScript(`
${COMMON}
local ids, known = {}, {}
for i = 2, #ARGV, 8 do ids[#ids + 1] = ARGV[i] end
for i, place in ipairs(redis.call('HMGET', places, unpack(ids))) do known[ids[i]] = place end

local reply, accepted, fresh, queued = {}, {}, {}, {}
local count = redis.call('HLEN', places)
local function answer(result, id)
  reply[#reply + 1] = result
  reply[#reply + 1] = id
end
for i = 2, #ARGV, 8 do
  local id, namespace, key, fingerprint = ARGV[i], ARGV[i + 3], ARGV[i + 5], ARGV[i + 6]
  local marker = base .. '${EVENT_KEY.dedupe}' .. key
  local before = key ~= '' and redis.call('GET', marker)
  if before then
    local first, own = string.match(before, '^(.-) (.*)$')
    answer(own == fingerprint and 'duplicate' or 'mismatch', first)
  elseif known[id] then
    answer('duplicate', id)
  elseif count >= tonumber(ARGV[i + 2]) then
    answer('full', id)
  else
    count = count + 1
    known[id] = redis.call('XADD', queue, '*', 'e', ARGV[i + 1], 'n', 0)
    accepted[#accepted + 1] = id
    accepted[#accepted + 1] = known[id]
    fresh[#fresh + 1] = id
    gather(queued, namespace, ARGV[i + 4], id)
    if key ~= '' then redis.call('SET', marker, id .. ' ' .. fingerprint, 'PXAT', ARGV[i + 7]) end
    answer('accepted', id)
  end
end
if #accepted > 0 then
  in_slices(accepted, function(...) redis.call('HSET', places, ...) end)
  for namespace, list in pairs(queued) do
    in_slices(list, function(...) redis.call('ZADD', by_time(namespace, 'queued'), ...) end)
    redis.call('SADD', base .. '${EVENT_KEY.namespaces}', namespace)
  end
  if redis.call('HDEL', deliveries, unpack(fresh)) > 0 then
    for namespace in pairs(queued) do
      redis.call('ZREM', by_time(namespace, 'done'), unpack(fresh))
      redis.call('ZREM', by_time(namespace, 'dead'), unpack(fresh))
    end
  end
  redis.call('PUBLISH', ARGV[1], '')
end
return reply
`);

/**
 * Takes events: first those of silent workers, then new ones. Those whose retry is due join the queue before.
 *
 * KEYS  1 base
 * ARGV  1 worker, 2 number, 3 silence in milliseconds after which an event is claimed, 4 '1' when silent workers are to be
 *       looked for also when there are new events
 * Returns  {milliseconds until the next one comes due or may be claimed (-1 = never), event as JSON, attempts, …}
 */
export const TAKE = defineScript(`
${COMMON}
local wanted, silence = tonumber(ARGV[2]), tonumber(ARGV[3])
local time = now()
for _, id in ipairs(redis.call('ZRANGEBYSCORE', later, '-inf', time, 'LIMIT', 0, wanted)) do
  local attempts, event = string.match(redis.call('HGET', held, id), '^(%d+) (.*)$')
  redis.call('HSET', places, id, redis.call('XADD', queue, '*', 'e', event, 'n', attempts))
  redis.call('HDEL', held, id)
  redis.call('ZREM', later, id)
end

local reply, taken = {-1}, 0
local function add(entry, more)
  taken = taken + 1
  reply[#reply + 1] = entry[2][2]
  reply[#reply + 1] = entry[2][4] + more
end
local function claim()
  local from = '0-0'
  repeat
    local claimed = redis.call('XAUTOCLAIM', queue, '${EVENT_GROUP}', ARGV[1], silence, from, 'COUNT', wanted - taken)
    from = claimed[1]
    for _, entry in ipairs(claimed[2]) do
      if entry then add(entry, claims(entry[1])) end
    end
  until from == '0-0' or taken >= wanted
end
if ARGV[4] == '1' then claim() end
if taken < wanted then
  local fresh = redis.call('XREADGROUP', 'GROUP', '${EVENT_GROUP}', ARGV[1], 'COUNT', wanted - taken, 'STREAMS', queue, '>')
  for _, entry in ipairs(fresh and fresh[1][2] or {}) do add(entry, 0) end
end
if taken == 0 and ARGV[4] ~= '1' then claim() end

if taken == 0 then
  local due = redis.call('ZRANGE', later, 0, 0, 'WITHSCORES')[2]
  if due then reply[1] = math.max(1, math.ceil(due - time)) end
  for _, pending in ipairs(redis.call('XPENDING', queue, '${EVENT_GROUP}', '-', '+', 100)) do
    local left = math.max(1, silence - pending[3])
    if reply[1] < 0 or left < reply[1] then reply[1] = left end
  end
end
return reply
`);

/**
 * Notes that a worker still works on events.
 *
 * KEYS  1 base
 * ARGV  1 worker, then event ids
 * Returns  how many of them it still has
 */
export const TOUCH = defineScript(`
${COMMON}
local touched = 0
for i = 2, #ARGV do
  local place = redis.call('HGET', places, ARGV[i])
  if place and place ~= '${LATER}' then
    if #redis.call('XPENDING', queue, '${EVENT_GROUP}', place, place, 1, ARGV[1]) > 0 then
      redis.call('XCLAIM', queue, '${EVENT_GROUP}', ARGV[1], 0, place, 'JUSTID')
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
 * ARGV  for each event: id, namespace, time, state, delivery record as JSON
 * Returns  how many were ended
 */
export const FINISH = defineScript(`
${COMMON}
local ids, waited, entries, records = {}, {}, {}, {}
for i = 1, #ARGV, 5 do ids[#ids + 1] = ARGV[i] end
local found, ended = redis.call('HMGET', places, unpack(ids)), {}
for i, id in ipairs(ids) do
  local place = found[i]
  if place and not ended[id] then
    ended[id] = true
    if place == '${LATER}' then waited[#waited + 1] = id else entries[#entries + 1] = place end
    for j = i * 5 - 4, i * 5 do records[#records + 1] = ARGV[j] end
  end
end
in_slices(waited, function(...)
  redis.call('ZREM', later, ...)
  redis.call('HDEL', held, ...)
end)
in_slices(entries, function(...)
  redis.call('XACK', queue, '${EVENT_GROUP}', ...)
  redis.call('XDEL', queue, ...)
end)
if #records > 0 then
  in_slices(ids, function(...) redis.call('HDEL', places, ...) end)
  save_deliveries(records, {'queued'})
end
return #records / 5
`);

/**
 * Writes over the record of an event that has ended.
 *
 * KEYS  1 base
 * ARGV  1 id, 2 namespace, 3 time, 4 state, 5 delivery record as JSON
 * Returns  1, or 0 when there is no record or the event is in the queue
 */
export const AMEND = defineScript(`
${COMMON}
if redis.call('HEXISTS', places, ARGV[1]) == 1 then return 0 end
if redis.call('HEXISTS', deliveries, ARGV[1]) == 0 then return 0 end
save_deliveries(ARGV, {'done', 'dead'})
return 1
`);

/**
 * Gives an event back, to be taken again later.
 *
 * KEYS  1 base
 * ARGV  1 id, 2 namespace, 3 time, 4 state, 5 delivery record as JSON, 6 milliseconds until it comes back, 7 channel
 * Returns  1, or 0 when it is no longer in the queue
 */
export const RETRY_LATER = defineScript(`
${COMMON}
local id = ARGV[1]
local place = redis.call('HGET', places, id)
if not place then return 0 end
local attempts, event
if place == '${LATER}' then
  attempts, event = string.match(redis.call('HGET', held, id), '^(%d+) (.*)$')
else
  local fields = redis.call('XRANGE', queue, place, place)[1][2]
  event, attempts = fields[2], fields[4] + claims(place)
  redis.call('XACK', queue, '${EVENT_GROUP}', place)
  redis.call('XDEL', queue, place)
end
redis.call('HSET', places, id, '${LATER}')
redis.call('HSET', held, id, string.format('%d', attempts + 1) .. ' ' .. event)
redis.call('ZADD', later, now() + ARGV[6], id)
save_deliveries({id, ARGV[2], ARGV[3], ARGV[4], ARGV[5]}, {'queued'})
redis.call('PUBLISH', ARGV[7], '')
return 1
`);

/**
 * What is known of events.
 *
 * KEYS  1 base
 * ARGV  event ids, at most 1,000
 * Returns  for each: its delivery record as JSON, or nil; where there is none, the event as it lies in the queue, or nil
 */
export const RECORDS = defineScript(`
${COMMON}
local reply = {}
for i, record in ipairs(redis.call('HMGET', deliveries, unpack(ARGV))) do
  local place = not record and redis.call('HGET', places, ARGV[i])
  local entry = place and place ~= '${LATER}' and redis.call('XRANGE', queue, place, place)[1]
  reply[2 * i - 1] = record
  reply[2 * i] = entry and entry[2][2] or false
end
return reply
`);

/**
 * Drops delivery records of one namespace that are too many or too old, unless their event is in the queue; and forgets
 * workers that have nothing and were not heard of for an hour.
 *
 * KEYS  1 base
 * ARGV  1 namespace, 2 number of records to keep, 3 their age in milliseconds
 * Returns  how many records were dropped, at most 1,000 of each state
 */
export const TRIM_DELIVERIES = defineScript(`
${COMMON}
local dropped = 0
local function drop(state, ids)
  if #ids == 0 then return end
  redis.call('HDEL', deliveries, unpack(ids))
  redis.call('ZREM', by_time(ARGV[1], state), unpack(ids))
  dropped = dropped + #ids
end

local count = redis.call('ZCARD', by_time(ARGV[1], 'queued'))
for _, state in ipairs({'done', 'dead'}) do
  drop(state, redis.call('ZRANGEBYSCORE', by_time(ARGV[1], state), '-inf', '(' .. (now() - ARGV[3]), 'LIMIT', 0, 1000))
  count = count + redis.call('ZCARD', by_time(ARGV[1], state))
end

-- The oldest of all go, but for those that are queued.
local excess, oldest = math.min(1000, count - ARGV[2]), {}
for _, state in ipairs(excess > 0 and {'queued', 'done', 'dead'} or {}) do
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
if count == #gone.done + #gone.dead then redis.call('SREM', base .. '${EVENT_KEY.namespaces}', ARGV[1]) end

local found, consumers = pcall(redis.call, 'XINFO', 'CONSUMERS', queue, '${EVENT_GROUP}')
for _, consumer in ipairs(found and consumers or {}) do
  if consumer[4] == 0 and consumer[6] > 3600000 then
    redis.call('XGROUP', 'DELCONSUMER', queue, '${EVENT_GROUP}', consumer[2])
  end
end
return dropped
`);
