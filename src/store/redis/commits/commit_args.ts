/**
 * The arguments of a commit, as its script reads them: what stands where, as JSON, and all long texts one after the
 * other. A handful of arguments costs both ends far less than one for each member.
 */
import type { ActorChange, IndexEntry, ShardCommit } from "../../port.ts";
import { NODE_PART_PREFIX } from "../../port.ts";
import { encodeIndex } from "../index.ts";
import { COMMON_PARTS, MARK_ROW } from "../keys.ts";
import type { ShardMemory } from "./shard_memory.ts";
import { COMMON_KEY } from "../shared_texts.ts";
import { defined } from "../../../base/defined.ts";
import { WAIT_TERM, waitPlace } from "../../list_query.ts";

/** Base of the shard, what stands where, all long texts. */
export type CommitArgs = [base: string, head: string, texts: string];

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
  const { epoch, cursor = "", follows, outboxPut, outboxDrop, timersSet, timersClear } = commit;
  // In layout 2 the mark is no row.
  const mark = memory.layout > 1 ? outboxPut[MARK_ROW] : undefined;
  const texts: string[] = [];
  const actors = commit.actors.map((change) => actorHead(change, memory, texts));
  const rows = Object.keys(outboxPut).filter((id) => mark === undefined || id !== MARK_ROW);
  for (const id of rows) texts.push(outboxPut[id] ?? "");
  const timers = Object.keys(timersSet).flatMap((id) => [String(timersSet[id]), id]);
  const answers = commit.answers.map(({ actor = "", ...stored }) => {
    texts.push(JSON.stringify(stored));
    return [stored.key, String(Math.max(1, Math.trunc(stored.expiresAt))), actor];
  });
  const all = texts.join("");
  const isAscii = Buffer.byteLength(all) === all.length;
  // The script counts in bytes.
  const whole = isAscii ? texts : texts.map((text) => text.toWellFormed());
  const lengths = whole.map((text) => isAscii ? text.length : Buffer.byteLength(text));
  const { row = "", text = "" } = follows ?? {};
  const fence = [String(epoch), session, row, text, mark ?? "", cursor] as const;
  const head = [...fence, actors, outboxDrop, rows, timersClear, timers, answers, lengths];
  return [base, jsonForLua(head), isAscii ? all : whole.join("")];
}

/** JSON whose texts are well-formed: the decoder of Redis takes no others. */
function jsonForLua(value: unknown): string {
  const text = JSON.stringify(value);
  return text.includes("\\ud")
    ? JSON.stringify(value, (_, one) => typeof one === "string" ? one.toWellFormed() : one)
    : text;
}

function actorHead(change: ActorChange, memory: ShardMemory, texts: string[]): unknown[] {
  const { id, drop, index, remove, remains = "" } = change;
  const { put, text } = memory.layout === 1
    ? { put: change.put, text: "" }
    : memory.shared.withReference(change.put);
  const filing = index === undefined || remove ? NO_FILING : filingOf(id, index, memory, texts);
  const keys = Object.keys(put);
  const reference = text === "" ? "" : put[COMMON_KEY] ?? "";
  if (reference !== "") texts.push(text);
  for (const key of keys) texts.push(put[key] ?? "");
  const others = keys.filter(isOtherPart);
  return [id, flagsOf(change), memory.ageOf(id), remains, ...filing, reference, others, drop, keys];
}

function flagsOf({ create, remove, silent, index, put, drop }: ActorChange): string {
  const isLost = put[COMMON_KEY] !== undefined || drop.includes(COMMON_KEY);
  const hasEntry = index !== undefined && !remove;
  return (create ? "c" : "") + (remove ? "r" : "") + (silent ? "s" : "") + (isLost ? "d" : "") +
    (hasEntry ? "i" : "");
}

/**
 * Time and place among those that are waiting, uid of an index entry, the proof of the earlier one, and the terms: how many
 * are new, new ones first.
 */
type Filing = [
  time: string,
  place: string,
  uid: string,
  proof: string,
  fresh: number,
  terms: readonly string[],
  gone: readonly string[],
];

const NO_FILING: Filing = ["", "", "", "", 0, [], []];

function filingOf(id: string, index: IndexEntry, memory: ShardMemory, texts: string[]): Filing {
  texts.push(encodeIndex(index));
  const { createdAt, uid, waitsSince } = index;
  const before = memory.filedOf(id);
  const terms = memory.terms.of(index);
  memory.noteSent(id, { createdAt, uid, terms, ...defined({ waitsSince }) });
  const time = String(createdAt);
  const place = String(waitPlace(index) ?? "");
  // What is not there yet, or was filed under another time or uid, is filed anew by the script.
  if (before?.createdAt !== createdAt || before.uid !== uid) {
    return [time, place, uid, "", terms.length, terms, []];
  }
  const isFresh = (term: string) =>
    !before.terms.includes(term) || (term === WAIT_TERM && before.waitsSince !== waitsSince);
  const fresh = terms.filter(isFresh);
  const kept = terms.filter((term) => !isFresh(term));
  const gone = before.terms.filter((term) => !terms.includes(term));
  return [time, place, uid, before.proof, fresh.length, [...fresh, ...kept], gone];
}

function isOtherPart(key: string): boolean {
  if (key.startsWith("@")) throw new Error(`Part key "${key}" begins with @, which Redis reserves`);
  return !key.startsWith(NODE_PART_PREFIX) && !COMMON_PARTS.includes(key);
}
