/** Where a record of a store is at home: the actor in whose shard it lies. A copy with another number of shards asks. */
import { isJsonObject, type Json } from "../base/json.ts";
import { parseOrUndefined } from "../base/json_text.ts";
import type { StoreRecord } from "../store/dump.ts";
import type { ActorId } from "../store/port.ts";
import { shardOf, workflowActorId } from "./actor_ids.ts";
import { parseTimerRowId } from "./timers.ts";

/**
 * The actor that a record is about; a text of its own if that can't be found out, so that it has some place. What lies in
 * no shard has none.
 */
export function homeOf(record: StoreRecord): ActorId | undefined {
  switch (record.type) {
    case "actor":
    case "parts":
      return record.actor;
    case "command":
      return record.command.actor;
    case "timer":
      return parseTimerRowId(record.id).actor;
    case "effect":
      return actorOfRow(record.text) ?? record.id;
    case "remains":
      return record.name.slice(0, record.name.lastIndexOf("#"));
    case "answer":
      return shownWorkflow(record.answer) ?? record.key;
    default:
      return undefined;
  }
}

/** Shards of records in a store with this number of shards; 0 for what lies in none. */
export function placeIn(shards: number): (record: StoreRecord) => number {
  return (record) => {
    const home = homeOf(record);
    return home === undefined ? 0 : shardOf(home, shards);
  };
}

function actorOfRow(text: string): ActorId | undefined {
  const row = parseOrUndefined(text);
  const actor = isJsonObject(row) ? row["actor"] : undefined;
  return typeof actor === "string" ? actor : undefined;
}

/** Only workflows keep answers, and what they answer shows the workflow. */
function shownWorkflow(answer: Json): ActorId | undefined {
  const metadata = isJsonObject(answer) ? answer["metadata"] : undefined;
  if (!isJsonObject(metadata)) return undefined;
  const { namespace, name } = metadata;
  return typeof namespace === "string" && typeof name === "string"
    ? workflowActorId(namespace, name)
    : undefined;
}
