/** The atomic steps in which a copy is read from Redis and written into it, as Lua. As in `../scripts.ts`, KEYS[1] is a base. */
import { ACTOR_FIELD, EVENT_KEY, LATER, SHARD_KEY } from "../keys.ts";
import { defineScript } from "../script.ts";
import { HOLD } from "../shared_texts.ts";

/**
 * Writes actors of one shard. One that is there with the same version is left as it is. Parts without a version belong to an
 * actor whose last parts are still to come.
 *
 * KEYS  1 base of the shard
 * ARGV  for each actor a list as JSON: id; version, '' while more parts are to come; index entry or ''; uid; reference
 *       among its parts or ''; the text in whose place it is; keys of other parts; terms and scores; keys and texts of parts
 * Returns  how many were written
 */
export const LOAD_ACTORS = defineScript(`
local base, call = KEYS[1], redis.call
local written = 0
${HOLD}local function in_slices(list, run)
  for from = 1, #list, 1000 do run(unpack(list, from, math.min(from + 999, #list))) end
end
for i = 1, #ARGV do
  local id, version, index, uid, reference, text, others, terms, parts = unpack(cjson.decode(ARGV[i]))
  local key = base .. '${SHARD_KEY.actor}' .. id
  local found = call('HMGET', key, '${ACTOR_FIELD.version}', '${ACTOR_FIELD.others}', 's')
  if not found[1] or (version ~= '' and found[1] ~= version) then
    written = written + 1
    if reference ~= '' and found[3] ~= reference then
      hold(reference, text)
    end
    in_slices(parts, function(...) call('HSET', key, ...) end)
    local all = found[2] or ''
    for _, other in ipairs(others) do
      if not string.find('\\n' .. all .. '\\n', '\\n' .. other .. '\\n', 1, true) then
        all = all == '' and other or all .. '\\n' .. other
      end
    end
    if all ~= '' then call('HSET', key, '${ACTOR_FIELD.others}', all) end
    if version ~= '' then
      call('HSET', key, '${ACTOR_FIELD.version}', version)
      if index ~= '' then
        call('HSET', key, '${ACTOR_FIELD.index}', index)
        call('HSET', base .. '${SHARD_KEY.uids}', uid, id)
        for at = 1, #terms, 2 do call('ZADD', base .. '${SHARD_KEY.term}' .. terms[at], terms[at + 1], id) end
      end
    end
  end
end
return written
`);

/**
 * Queues events, in their order.
 *
 * KEYS  1 base of the events
 * ARGV  for each event: id, content, time when it is tried again or ''
 * Returns  their number
 */
export const LOAD_EVENTS = defineScript(`
local base, call = KEYS[1], redis.call
for i = 1, #ARGV, 3 do
  local id, content, at = ARGV[i], ARGV[i + 1], ARGV[i + 2]
  local place = '${LATER}'
  if at == '' then
    place = call('XADD', base .. '${EVENT_KEY.queue}', '*', id, content) .. ' 1'
  else
    call('HSET', base .. '${EVENT_KEY.held}', id, content)
    call('ZADD', base .. '${EVENT_KEY.later}', at, id)
  end
  call('HSET', base .. '${EVENT_KEY.places}', id, place)
end
return #ARGV / 3
`);

/**
 * Reads a text that expires. Redis tells the moment by itself only from version 7.0 on; the time that is left tells it exactly
 * as long as the clock shows the same before and after.
 *
 * KEYS  1 base
 * ARGV  1 the rest of the key
 * Returns  the text, and when it expires, epoch ms; not above 0 if it does not, or is not there
 */
export const READ_EXPIRING = defineScript(`
local key, call = KEYS[1] .. ARGV[1], redis.call
local function now()
  local time = call('TIME')
  return time[1] * 1000 + math.floor(time[2] / 1000)
end
local text, at, left = call('GET', key)
repeat
  at = now()
  left = call('PTTL', key)
until now() == at
return {text, left > 0 and at + left or left}
`);
