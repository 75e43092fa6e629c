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
import { shorteningOf, shortKey, shortParts } from "../texts/short_texts.ts";
import { WAIT_TERM, waitPlace } from "../../list_query.ts";

/** What stands where and everything short, in the order in which the script reads it. */
type Head = (string | number)[];

/** As the header of the script says. */
export type CommitArgs = string[];

/** A longer list, or a larger number, is sent as JSON: what the script may unpack at once is bounded. */
const MAX_UNPACKED = 2_000;
const MAX_BYTE = 127;
/** A text that is all ASCII and may end with a zero. */
// deno-lint-ignore no-control-regex -- the zero ends each text
const PLAIN = /^[\x01-\x7f]*$/;

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
  let [format, list, plain] = ["", "", ""];
  for (const one of head) {
    if (typeof one === "number") {
      if (one > MAX_BYTE) return ["", jsonForLua(head)];
      format += "B";
      list += String.fromCharCode(one);
    } else {
      format += "s";
      list += `${one}\0`;
      plain += one;
    }
  }
  const isPlain = head.length <= MAX_UNPACKED && PLAIN.test(plain);
  return isPlain ? [format, list] : ["", jsonForLua(head)];
}

/** JSON whose texts are well-formed: the decoder of Redis takes no others. */
function jsonForLua(value: unknown): string {
  const text = JSON.stringify(value);
  return text.includes("\\ud")
    ? JSON.stringify(value, (_, one) => typeof one === "string" ? one.toWellFormed() : one)
    : text;
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
  const terms = memory.terms.of(index);
  memory.noteSent(id, index, terms);
  head.push(String(createdAt), String(waitPlace(index) ?? ""), uid);
  // What is not there yet, or was filed under another time or uid, is filed anew by the script.
  if (before?.createdAt !== createdAt || before.uid !== uid) {
    head.push("", "[]", terms.length, 0, ...terms);
    return;
  }
  const isFresh = (term: string) =>
    !before.terms.includes(term) || (term === WAIT_TERM && before.waitsSince !== waitsSince);
  const fresh = terms.filter(isFresh);
  const kept = terms.filter((term) => !isFresh(term));
  const gone = before.terms.filter((term) => !terms.includes(term));
  head.push(before.proof, jsonForLua(kept), fresh.length, gone.length, ...fresh, ...gone);
}

function isOtherPart(key: string): boolean {
  if (key.startsWith("@")) throw new Error(`Part key "${key}" begins with @, which Redis reserves`);
  return !key.startsWith(NODE_PART_PREFIX) && !COMMON_PARTS.includes(key);
}
