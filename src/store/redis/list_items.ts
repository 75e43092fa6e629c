/** Which candidates a list of the Redis adapter shows, and what it loads of them. */
import { Turns } from "../../platform/turns.ts";
import {
  type ListPosition,
  matchesEntry,
  matchesId,
  unreadableEntry,
  wantsPart,
} from "../list_query.ts";
import type { IndexEntry, ListPage, ListQuery } from "../port.ts";
import { fieldSteps } from "./actor_fields.ts";
import type { RedisContext } from "./context.ts";
import { decodeIndex } from "./index.ts";
import { ACTOR_FIELD, COMMON_PARTS, SHARD_KEY } from "./keys.ts";
import { COUNT_ENTRIES, FIND, READ_FIELDS } from "./list_scripts.ts";
import type { Candidate } from "./list_walk.ts";
import { askShards } from "./shard_calls.ts";
import { inSizeGroups } from "./size_groups.ts";
import { shorteningOf } from "./texts/short_texts.ts";

/** One item of a list. */
export type Item = ListPage["items"][number];

/** Most fields that are loaded together. */
const MAX_FIELDS = 5_000;

/** The candidates that a query selects. */
export async function selectCandidates(
  context: RedisContext,
  candidates: Candidate[],
  query: ListQuery,
): Promise<Candidate[]> {
  const possible = candidates.filter(({ id }) => matchesId(id, query));
  const fields = ["HGET", ACTOR_FIELD.index];
  const texts = await askShards(context, FIND, fields, possible, (one) => [actorKey(context, one)]);
  return possible.filter((one, index) => {
    const text = texts[index];
    return typeof text === "string" && matchesEntry(entryOf(one, text), query);
  });
}

/** What was loaded: items, how many candidates were used for them, and the characters of their parts. */
export interface LoadedItems {
  items: Item[];
  count: number;
  size: number;
}

/**
 * Loads what is shown.
 * @param room characters of parts, roughly; the remaining candidates are left out when there is no room for them
 */
export async function loadItems(
  context: RedisContext,
  candidates: Candidate[],
  query: ListQuery,
  room: number,
): Promise<LoadedItems> {
  const loaded: LoadedItems = { items: [], count: 0, size: 0 };
  const turns = new Turns();
  const { layout } = await context.terms();
  const hasRoomAfter = async (reply: unknown): Promise<boolean> => {
    const one = candidates[loaded.count++];
    const how = shorteningOf(layout, one?.id ?? "");
    const fields = await turns.run(fieldSteps(reply, how, (part) => wantsPart(part, query)));
    // Removed meanwhile, or of another kind.
    if (one === undefined || fields.version === undefined || !one.id.startsWith(`${query.kind}/`)) {
      return true;
    }
    const { version, parts, size } = fields;
    const index = entryOf(one, fields.index);
    // It was selected in an earlier call, and may have changed since.
    if (!matchesEntry(index, query)) return true;
    loaded.items.push({ id: one.id, version, parts, index });
    loaded.size += size;
    return loaded.size < room;
  };
  const isAll = query.parts === undefined && query.withoutNodes !== true;
  const read = isAll
    ? readAllFields(context, candidates)
    : inSizeGroups(candidates, (group) => readNamedParts(context, group, query.parts));
  for await (const fields of read) {
    if (!await hasRoomAfter(fields)) break;
  }
  return loaded;
}

/** Fields of actors: the parts with these keys, or all parts that are not nodes. */
async function readNamedParts(
  context: RedisContext,
  candidates: Candidate[],
  parts: readonly string[] | undefined,
): Promise<unknown[]> {
  const names = [ACTOR_FIELD.version, ACTOR_FIELD.index, ...parts ?? COMMON_PARTS];
  const mode = parts === undefined ? "others" : "";
  const first = [mode, String(names.length), ...names];
  const asked = (one: Candidate) => [actorKey(context, one)];
  const found = await askShards(context, READ_FIELDS, first, candidates, asked);
  return await Promise.all(found.map((fields, index) => {
    const base = context.keys.shard(candidates[index]?.shard ?? 0);
    return context.shared.resolveFields(base, fields);
  }));
}

/** All fields of actors, in order, a few actors at a time: others get their turn in between. */
async function* readAllFields(
  context: RedisContext,
  candidates: Candidate[],
): AsyncGenerator<unknown> {
  const keyArg = (one: Candidate) => [actorKey(context, one)];
  const counts = await askShards(context, COUNT_ENTRIES, ["HLEN"], candidates, keyArg);
  const counted = candidates.map((one, at) => ({ one, fields: Number(counts[at]) }));
  const readAll = (group: typeof counted) =>
    Promise.all(group.map(async ({ one }) => {
      const key = actorKey(context, one);
      const fields = await context.link.send(key, ["HGETALL", key]);
      return await context.shared.resolveFields(context.keys.shard(one.shard), fields);
    }));
  yield* inSizeGroups(
    counted,
    readAll,
    (group, next) => group.reduce((sum, { fields }) => sum + fields, next.fields) > MAX_FIELDS,
  );
}

function actorKey({ keys }: RedisContext, { shard, id }: Candidate): string {
  return keys.shard(shard) + SHARD_KEY.actor + id;
}

/** The index entry of a listed actor, or a stand-in if it can't be read. */
function entryOf(position: ListPosition, text: string | undefined): IndexEntry {
  return (text === undefined ? undefined : decodeIndex(position.id, text)) ??
    unreadableEntry(position);
}
