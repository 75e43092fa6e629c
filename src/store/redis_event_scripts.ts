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

local function now()
  local time = redis.call('TIME')
  return time[1] * 1000 + math.floor(time[2] / 1000)
end

-- Writes the delivery record of an event.
local function save_delivery(id, namespace, time, state, record)
  local by_time = base .. '${EVENT_KEY.byTime}' .. namespace
  redis.call('HSET', base .. '${EVENT_KEY.deliveries}', id, record)
  redis.call('ZADD', by_time, time, id)
  for _, other in ipairs({'queued', 'done', 'dead'}) do
    if other ~= state then redis.call('ZREM', by_time .. ':' .. other, id) end
  end
  redis.call('ZADD', by_time .. ':' .. state, time, id)
  redis.call('SADD', base .. '${EVENT_KEY.namespaces}', namespace)
end

-- How often a taken entry was claimed from a silent worker.
local function claims(place)
  local pending = redis.call('XPENDING', queue, '${EVENT_GROUP}', place, place, 1)[1]
  return pending and pending[4] - 1 or 0
end
`;

/**
 * Puts an event into the queue unless it is full or a repeat.
 *
 * KEYS  1 base
 * ARGV  1 id, 2 event as JSON, 3 bound, 4 namespace, 5 time, 6 delivery record as JSON, 7 channel,
 *       8 deduplication key ('' = none), 9 fingerprint, 10 time when the key expires
 * Returns  {'accepted' | 'full' | 'duplicate' | 'mismatch', event id}
 */
export const OFFER = defineScript(`
${COMMON}
local id = ARGV[1]
local marker = base .. '${EVENT_KEY.dedupe}' .. ARGV[8]
if ARGV[8] ~= '' then
  local known = redis.call('GET', marker)
  if known then
    local first, fingerprint = string.match(known, '^(.-) (.*)$')
    return {fingerprint == ARGV[9] and 'duplicate' or 'mismatch', first}
  end
end
if redis.call('HEXISTS', places, id) == 1 then return {'duplicate', id} end
if redis.call('HLEN', places) >= tonumber(ARGV[3]) then return {'full', id} end
local place = redis.call('XADD', queue, '*', 'e', ARGV[2], 'n', 0)
redis.call('HSET', places, id, place)
save_delivery(id, ARGV[4], ARGV[5], 'queued', ARGV[6])
if ARGV[8] ~= '' then redis.call('SET', marker, id .. ' ' .. ARGV[9], 'PXAT', ARGV[10]) end
redis.call('PUBLISH', ARGV[7], '')
return {'accepted', id}
`);

/**
 * Takes events: first those of silent workers, then new ones. Those whose retry is due join the queue before.
 *
 * KEYS  1 base
 * ARGV  1 worker, 2 number, 3 silence in milliseconds after which an event is claimed
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
local from = '0-0'
repeat
  local claimed = redis.call('XAUTOCLAIM', queue, '${EVENT_GROUP}', ARGV[1], silence, from, 'COUNT', wanted - taken)
  from = claimed[1]
  for _, entry in ipairs(claimed[2]) do
    if entry then add(entry, claims(entry[1])) end
  end
until from == '0-0' or taken >= wanted
if taken < wanted then
  local fresh = redis.call('XREADGROUP', 'GROUP', '${EVENT_GROUP}', ARGV[1], 'COUNT', wanted - taken, 'STREAMS', queue, '>')
  for _, entry in ipairs(fresh and fresh[1][2] or {}) do add(entry, 0) end
end

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
local ended = 0
for i = 1, #ARGV, 5 do
  local id = ARGV[i]
  local place = redis.call('HGET', places, id)
  if place then
    if place == '${LATER}' then
      redis.call('ZREM', later, id)
      redis.call('HDEL', held, id)
    else
      redis.call('XACK', queue, '${EVENT_GROUP}', place)
      redis.call('XDEL', queue, place)
    end
    redis.call('HDEL', places, id)
    save_delivery(id, ARGV[i + 1], ARGV[i + 2], ARGV[i + 3], ARGV[i + 4])
    ended = ended + 1
  end
end
return ended
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
if redis.call('HEXISTS', base .. '${EVENT_KEY.deliveries}', ARGV[1]) == 0 then return 0 end
save_delivery(ARGV[1], ARGV[2], ARGV[3], ARGV[4], ARGV[5])
return 1
`);

/**
 * Gives an event back, to be taken again later.
 *
 * KEYS  1 base
 * ARGV  1 id, 2 namespace, 3 time, 4 state, 5 delivery record as JSON, 6 time when it comes back, 7 channel
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
redis.call('ZADD', later, ARGV[6], id)
save_delivery(id, ARGV[2], ARGV[3], ARGV[4], ARGV[5])
redis.call('PUBLISH', ARGV[7], '')
return 1
`);

/**
 * Drops delivery records of one namespace that are too many or too old, unless their event is in the queue; and forgets
 * workers that have nothing and were not heard of for an hour.
 *
 * KEYS  1 base
 * ARGV  1 namespace, 2 number of records to keep, 3 their age in milliseconds
 * Returns  how many records were dropped, at most 1,000
 */
export const TRIM_DELIVERIES = defineScript(`
${COMMON}
local by_time = base .. '${EVENT_KEY.byTime}' .. ARGV[1]
local dropped = 0
local function drop(ids)
  for _, id in ipairs(ids) do
    if redis.call('HEXISTS', places, id) == 0 then
      redis.call('HDEL', base .. '${EVENT_KEY.deliveries}', id)
      redis.call('ZREM', by_time, id)
      for _, state in ipairs({'queued', 'done', 'dead'}) do redis.call('ZREM', by_time .. ':' .. state, id) end
      dropped = dropped + 1
    end
  end
end
drop(redis.call('ZRANGEBYSCORE', by_time, '-inf', '(' .. (now() - ARGV[3]), 'LIMIT', 0, 1000))
local excess = math.min(1000 - dropped, redis.call('ZCARD', by_time) - ARGV[2])
if excess > 0 then drop(redis.call('ZRANGE', by_time, 0, excess - 1)) end
if redis.call('EXISTS', by_time) == 0 then redis.call('SREM', base .. '${EVENT_KEY.namespaces}', ARGV[1]) end

local found, consumers = pcall(redis.call, 'XINFO', 'CONSUMERS', queue, '${EVENT_GROUP}')
for _, consumer in ipairs(found and consumers or {}) do
  if consumer[4] == 0 and consumer[6] > 3600000 then
    redis.call('XGROUP', 'DELCONSUMER', queue, '${EVENT_GROUP}', consumer[2])
  end
end
return dropped
`);
