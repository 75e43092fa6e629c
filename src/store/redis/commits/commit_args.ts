/** The arguments of the commit script. */
import type { ActorChange, IndexEntry, ShardCommit } from "../../port.ts";
import { NODE_PART_PREFIX } from "../../port.ts";
import { encodeHeader, NO_CHANGE } from "../change.ts";
import { decodeIndex, encodeIndex } from "../index.ts";
import { COMMON_PARTS, MARK_ROW } from "../keys.ts";
import type { ShardMemory } from "./shard_memory.ts";
import { COMMON_KEY } from "../shared_texts.ts";

/** The lists among the arguments of the commit script; its header describes them. */
export function commitLists(commit: ShardCommit, memory: ShardMemory): string[] {
  const { actors, outboxDrop, timersClear, timersSet, answers } = commit;
  const { [MARK_ROW]: mark = "", ...rows } = commit.outboxPut;
  const hasMark = memory.layout > 1;
  const outboxPut = hasMark ? rows : commit.outboxPut;
  const lists = [hasMark ? mark : "", String(actors.length)];
  for (const change of actors) pushActor(lists, change, memory);
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

function pushActor(lists: string[], change: ActorChange, memory: ShardMemory): void {
  const { id, drop, index, remove, remains = "", silent } = change;
  const { put, text = "" } = memory.layout === 1
    ? { put: change.put }
    : memory.shared.withReference(change.put);
  const feed = silent ? "" : encodeHeader(remove ? NO_CHANGE : { put, drop });
  lists.push(id, flagsOf(change), memory.ageOf(id), remains, feed);
  if (index === undefined || remove) lists.push("", "", "", "", "0", "0", "0");
  else pushIndex(lists, id, index, memory);
  lists.push(text === "" ? "" : put[COMMON_KEY] ?? "", text);
  push(lists, Object.keys(put).filter(isOtherPart));
  push(lists, drop);
  pushPairs(lists, put);
}

function flagsOf({ create, remove, silent, put, drop }: ActorChange): string {
  const isLost = put[COMMON_KEY] !== undefined || drop.includes(COMMON_KEY);
  return (create ? "c" : "") + (remove ? "r" : "") + (silent ? "s" : "") + (isLost ? "d" : "");
}

function pushIndex(
  lists: string[],
  id: string,
  index: IndexEntry,
  memory: ShardMemory,
): void {
  const text = encodeIndex(index);
  const known = memory.indexOf(id) ?? "";
  const before = known === "" || known === text ? undefined : decodeIndex(id, known);
  lists.push(text, String(index.createdAt), index.uid);
  const terms = memory.terms.of(index);
  memory.noteIndex(id, text);
  // What was filed under another time or uid is filed anew by the script.
  if (before?.createdAt !== index.createdAt || before.uid !== index.uid) {
    lists.push("", String(terms.length));
    push(lists, terms);
    push(lists, []);
    return;
  }
  const had = new Set(memory.terms.of(before));
  const fresh = terms.filter((term) => !had.delete(term));
  const kept = terms.filter((term) => !fresh.includes(term));
  lists.push(known, String(fresh.length));
  push(lists, [...fresh, ...kept]);
  push(lists, [...had]);
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
