/**
 * The arguments of a commit, as its script reads them: one list of everything short, then the long texts and their keys. An
 * argument for each member of the list would cost both ends more.
 */
import type { ActorChange, IndexEntry, ShardCommit } from "../../port.ts";
import { NODE_PART_PREFIX } from "../../port.ts";
import { encodeIndex } from "../index.ts";
import { ACTOR_FIELD, COMMON_PARTS, MARK_ROW } from "../keys.ts";
import type { ShardMemory } from "./shard_memory.ts";
import { COMMON_KEY } from "../shared_texts.ts";
import { jsonForLua } from "../script.ts";
import { refile } from "../terms.ts";
import { shorteningOf, shortKey, shortParts } from "../texts/short_texts.ts";
import { WAIT_TERM, waitPlace } from "../../list_query.ts";

/** What stands where and everything short, in the order in which the script reads it. */
type Head = (string | number)[];

/** As the header of the script says. */
export type CommitArgs = string[];

/** A longer list, or a larger number, is sent as JSON: what the script may unpack at once is bounded. */
const MAX_UNPACKED = 2_000;
const MAX_BYTE = 127;
/** Where the format and the list are put together; a longer list is sent as JSON. */
const ROOM = Buffer.alloc(65_536);
/** Bytes before which each text must end: beyond there is room for the numbers. */
const MAX_LIST = ROOM.length - MAX_UNPACKED;
/** What `struct.unpack` calls a byte and a text that ends with a zero: "B" and "s". */
const [NUMBER, TEXT] = [66, 115];

/**
 * Encodes a commit.
 * @param base of its shard
 * @param session in which it is written, "" for none
 */
export function encodeCommit(
  commit: ShardCommit,
  base: string,
  session: string,
  memory: ShardMemory,
): CommitArgs {
  const { actors, epoch, cursor = "", follows, outboxPut, outboxDrop } = commit;
  const { timersSet, timersClear, answers } = commit;
  // In layout 2 the mark is no row.
  const mark = memory.layout > 1 ? outboxPut[MARK_ROW] : undefined;
  const rows = Object.keys(outboxPut).filter((id) => mark === undefined || id !== MARK_ROW);
  const timers = Object.keys(timersSet);
  const { row = "", text = "" } = follows ?? {};
  const head: Head = [String(epoch), session, row, text, mark ?? "", cursor];
  head.push(actors.length, outboxDrop.length, rows.length, timersClear.length, timers.length);
  head.push(answers.length);
  const texts: string[] = [];
  for (const change of actors) addActor(change, memory, head, texts);
  for (const list of [outboxDrop, timersClear]) for (const id of list) head.push(id);
  for (const id of rows) texts.push(id, outboxPut[id] ?? "");
  for (const id of timers) head.push(String(timersSet[id]), id);
  for (const { actor = "", ...stored } of answers) {
    head.push(stored.key, String(Math.max(1, Math.trunc(stored.expiresAt))), actor);
    texts.push(JSON.stringify(stored));
  }
  return [base, String(texts.length), ...packed(head), ...texts];
}

/** The list and its format: each text ends with a zero, each number is a byte; or as JSON, without a format. */
function packed(head: Head): [format: string, list: string] {
  const count = head.length;
  if (count > MAX_UNPACKED) return ["", jsonForLua(head)];
  // Written as bytes: a text that grows piece by piece costs several times as much.
  let at = count;
  for (let i = 0; i < count; i++) {
    const one = head[i] ?? "";
    if (typeof one === "number") {
      if (one > MAX_BYTE) return ["", jsonForLua(head)];
      ROOM[i] = NUMBER;
      ROOM[at++] = one;
      continue;
    }
    if (at + one.length >= MAX_LIST) return ["", jsonForLua(head)];
    ROOM[i] = TEXT;
    for (let c = 0; c < one.length; c++) {
      const code = one.charCodeAt(c);
      if (code === 0 || code > MAX_BYTE) return ["", jsonForLua(head)];
      ROOM[at++] = code;
    }
    ROOM[at++] = 0;
  }
  return [ROOM.toString("latin1", 0, count), ROOM.toString("latin1", count, at)];
}

function addActor(change: ActorChange, memory: ShardMemory, head: Head, texts: string[]): void {
  const { id, create, remove, silent, index, remains = "" } = change;
  const { put: whole, text } = memory.layout === 1
    ? { put: change.put, text: "" }
    : memory.shared.withReference(change.put);
  const how = shorteningOf(memory.layout, id);
  const put = how === undefined ? whole : shortParts(whole, how);
  const drop = how === undefined ? change.drop : change.drop.map((key) => shortKey(key, how));
  const keys = Object.keys(put);
  const others = keys.filter(isOtherPart);
  const loses = put[COMMON_KEY] !== undefined || drop.includes(COMMON_KEY);
  const entry = remove ? undefined : index;
  const reference = text === "" ? "" : put[COMMON_KEY] ?? "";
  head.push(id, bit(create), bit(remove), bit(silent), bit(loses), bit(entry !== undefined));
  head.push(keys.length, drop.length, others.length, memory.ageOf(id), remains, reference);
  if (reference !== "") texts.push(text);
  if (entry !== undefined) {
    addFiling(id, entry, memory, head);
    texts.push(ACTOR_FIELD.index, encodeIndex(entry, memory.layout));
  }
  for (const list of [drop, others]) for (const key of list) head.push(key);
  for (const key of keys) texts.push(key, put[key] ?? "");
}

function bit(flag: boolean | undefined): number {
  return flag === true ? 1 : 0;
}

/**
 * Time and place among those that are waiting, uid of an index entry, the proof of the earlier one, the terms that both
 * have, those that only this one has, and those that only the earlier one has.
 */
function addFiling(id: string, index: IndexEntry, memory: ShardMemory, head: Head): void {
  const { createdAt, uid, waitsSince } = index;
  const before = memory.filedOf(id);
  const filing = memory.terms.filingOf(index);
  memory.noteSent(id, index, filing);
  head.push(String(createdAt), String(waitPlace(index) ?? ""), uid);
  // What is not there yet, or was filed under another time or uid, is filed anew by the script.
  if (before?.createdAt !== createdAt || before.uid !== uid) {
    head.push("", "[]", filing.terms.length, 0, ...filing.terms);
    return;
  }
  const { kept, fresh, gone } = refile(before.filing, filing);
  const { terms } = before.filing;
  // One that goes on waiting since another time has another place.
  const moved = before.waitsSince !== waitsSince && terms.includes(WAIT_TERM) &&
    filing.terms.includes(WAIT_TERM);
  const all = moved ? [...fresh, WAIT_TERM] : fresh;
  head.push(before.proof, kept, all.length, gone.length, ...all, ...gone);
}

function isOtherPart(key: string): boolean {
  if (key.startsWith("@")) throw new Error(`Part key "${key}" begins with @, which Redis reserves`);
  return !key.startsWith(NODE_PART_PREFIX) && !COMMON_PARTS.includes(key);
}
