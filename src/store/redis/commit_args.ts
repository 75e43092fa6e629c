/** The arguments of the commit script. */
import { indexTerms } from "../list_query.ts";
import type { ActorChange, ShardCommit } from "../port.ts";
import { NODE_PART_PREFIX } from "../port.ts";
import { encodeHeader, NO_CHANGE } from "./change.ts";
import { encodeIndex } from "./index.ts";
import { COMMON_PARTS } from "./keys.ts";

/** The lists among the arguments of the commit script; its header describes them. */
export function commitLists(commit: ShardCommit, completedLabel: string): string[] {
  const { actors, outboxDrop, outboxPut, timersClear, timersSet, answers } = commit;
  const lists = [String(actors.length)];
  for (const change of actors) pushActor(lists, change, completedLabel);
  push(lists, outboxDrop);
  pushPairs(lists, outboxPut);
  push(lists, timersClear);
  pushEntries(lists, Object.entries(timersSet).map(([id, at]) => [at, id]));
  lists.push(String(answers.length));
  for (const answer of answers) {
    const { actor = "", ...stored } = answer;
    const expiresAt = String(Math.max(1, Math.trunc(answer.expiresAt)));
    lists.push(answer.key, JSON.stringify(stored), expiresAt, actor);
  }
  return lists;
}

function pushActor(lists: string[], change: ActorChange, completedLabel: string): void {
  const { id, put, drop, index, create, remove, remains = "", silent } = change;
  const flags = (create ? "c" : "") + (remove ? "r" : "") + (silent ? "s" : "");
  const feed = silent ? "" : encodeHeader(remove ? NO_CHANGE : change);
  lists.push(id, flags, remains, feed);
  if (index === undefined) lists.push("", "", "", "0");
  else {
    lists.push(encodeIndex(index), String(index.createdAt), index.uid);
    push(lists, indexTerms(index, completedLabel));
  }
  push(lists, Object.keys(put).filter(isOtherPart));
  push(lists, drop);
  pushPairs(lists, put);
}

function isOtherPart(key: string): boolean {
  if (key.startsWith("@")) throw new Error(`Part key "${key}" begins with @, which Redis reserves`);
  return !key.startsWith(NODE_PART_PREFIX) && !COMMON_PARTS.includes(key);
}

function push(lists: string[], items: readonly string[]): void {
  lists.push(String(items.length));
  for (const item of items) lists.push(item);
}

function pushPairs(lists: string[], pairs: Record<string, string>): void {
  pushEntries(lists, Object.entries(pairs));
}

function pushEntries(lists: string[], entries: [string | number, string][]): void {
  lists.push(String(entries.length));
  for (const [key, value] of entries) lists.push(String(key), value);
}
