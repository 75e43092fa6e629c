/**
 * The arguments of a commit, as its script reads them: one list of everything short, then the long texts and their keys. An
 * argument for each member of the list would cost both ends more.
 */
import type { ActorChange, IndexEntry, ShardCommit } from "../../port.ts";
import { isNode, sizeOfNodes } from "../../large_creation.ts";
import { NODE_PART_PREFIX } from "../../port.ts";
import { encodeIndex } from "../index.ts";
import { ACTOR_FIELD, COMMON_KEY, COMMON_PARTS, MANY_VALUES, MARK_ROW } from "../keys.ts";
import { encodeChange } from "../feed/change.ts";
import type { ShardMemory } from "./shard_memory.ts";
import type { StagedNodes } from "./staged_nodes.ts";
import { jsonForLua } from "../script.ts";
import { type Filing, refile } from "../terms.ts";
import { shorteningOf, shortKey, shortText } from "../texts/short_texts.ts";
import { WAIT_TERM, waitPlace } from "../../list_query.ts";

/** What stands where and everything short, in the order in which the script reads it. */
type Head = (string | number)[];

/** As the header of the script says. */
export type CommitArgs = (string | Buffer)[];

/** A longer list, or a larger number, is sent as JSON: what the script may unpack at once is bounded. */
const MAX_UNPACKED = 2_000;
const MAX_BYTE = 127;
/** So many parts of a change come in one text. With their keys and earlier texts they may be many values. */
const MANY_PARTS = MANY_VALUES / 4;
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
 * @param staged nodes that were written before
 */
export function encodeCommit(
  commit: ShardCommit,
  base: string,
  session: string,
  memory: ShardMemory,
  staged?: StagedNodes,
): CommitArgs {
  const { actors, epoch, cursor = "", follows, ifManifests = "", outboxPut, outboxDrop } = commit;
  const { timersSet, timersClear, answers } = commit;
  // In layout 2 the mark is no row.
  const mark = memory.layout > 1 ? outboxPut[MARK_ROW] : undefined;
  const { row = "", text = "" } = follows ?? {};
  const head: Head = [String(epoch), session, row, text, mark ?? "", cursor, ifManifests];
  const counts = head.length;
  head.push(actors.length, outboxDrop.length, 0, timersClear.length, 0, answers.length);
  const args: CommitArgs = [base, "", "", ""];
  const before = args.length;
  for (const change of actors) addActor(change, memory, head, args, staged?.get(change.id));
  for (const id of outboxDrop) head.push(id);
  for (const id of timersClear) head.push(id);
  let rows = 0;
  for (const id in outboxPut) {
    if (mark !== undefined && id === MARK_ROW) continue;
    args.push(id, outboxPut[id] ?? "");
    rows++;
  }
  head[counts + 2] = rows;
  let timers = 0;
  for (const id in timersSet) {
    head.push(String(timersSet[id]), id);
    timers++;
  }
  head[counts + 4] = timers;
  for (const { actor = "", ...stored } of answers) {
    head.push(stored.key, String(Math.max(1, Math.trunc(stored.expiresAt))), actor);
    args.push(JSON.stringify(stored));
  }
  args[1] = String(args.length - before);
  pack(head, args);
  return args;
}

/** Adds the format and the list: each text ends with a zero, each number is a byte; or JSON, without a format. */
function pack(head: Head, args: CommitArgs): void {
  const end = head.length > MAX_UNPACKED ? undefined : writeToRoom(head);
  args[2] = end === undefined ? "" : ROOM.toString("latin1", 0, head.length);
  args[3] = end === undefined ? jsonForLua(head) : ROOM.toString("latin1", head.length, end);
}

/** Gives the end of the list, which begins where its format ends; undefined if it cannot be written so. */
function writeToRoom(head: Head): number | undefined {
  const count = head.length;
  // Written as bytes: a text that grows piece by piece costs several times as much.
  let at = count;
  for (let i = 0; i < count; i++) {
    const one = head[i] ?? "";
    if (typeof one === "number") {
      if (one > MAX_BYTE) return undefined;
      ROOM[i] = NUMBER;
      ROOM[at++] = one;
      continue;
    }
    if (at + one.length >= MAX_LIST) return undefined;
    ROOM[i] = TEXT;
    for (let c = 0; c < one.length; c++) {
      const code = one.charCodeAt(c);
      if (code === 0 || code > MAX_BYTE) return undefined;
      ROOM[at++] = code;
    }
    ROOM[at++] = 0;
  }
  return at;
}

function addActor(
  change: ActorChange,
  memory: ShardMemory,
  head: Head,
  args: CommitArgs,
  staged: string | undefined,
): void {
  const { id, drop, create, remove, silent, index, remains = "" } = change;
  const put = staged === undefined ? change.put : change.put.filter((part) => !isNode(part));
  const { layout, shared } = memory;
  const how = shorteningOf(layout, id);
  const common = commonOf(put);
  const reference = layout === 1 || common === undefined ? "" : shared.referenceFor(common);
  const loses = common !== undefined || drop.includes(COMMON_KEY);
  const entry = remove ? undefined : index;
  if (remove) memory.noteRemoved(id);
  head.push(id, bit(create), bit(remove), bit(silent), bit(loses), bit(entry !== undefined));
  const counts = head.length;
  const isLong = silent !== true && staged === undefined && put.length + drop.length >= MANY_PARTS;
  head.push(0, drop.length, 0, memory.ageOf(id), remains, reference, bit(isLong), staged ?? "");
  if (reference !== "") args.push(common ?? "");
  if (entry !== undefined) {
    const { labels } = addFiling(id, entry, memory, head);
    args.push(ACTOR_FIELD.index, encodeIndex(entry, labels, layout));
  }
  const dropped = how === undefined ? drop : drop.map((key) => shortKey(key, how));
  for (const key of dropped) head.push(key);
  const many: string[] | undefined = isLong ? [] : undefined;
  const parts = many ?? args;
  let others = 0;
  for (const part of put) {
    const { key } = part;
    const isCommon = key === COMMON_KEY;
    const text = isCommon && reference !== "" ? reference : part.text;
    if (how === undefined) parts.push(key, text);
    else parts.push(shortKey(key, how), isCommon ? text : shortText(text, how));
    if (!isOtherPart(key)) continue;
    head.push(key);
    others++;
  }
  if (many !== undefined) args.push(...inOne(many, dropped));
  if (staged !== undefined) {
    args.push(withoutNodes(args.slice(args.length - 2 * put.length), sizeOfNodes(change.put)));
  }
  head[counts] = put.length;
  head[counts + 2] = others;
}

/** A change as the feed holds it whose nodes were written before. @param parts the other ones: their keys and texts */
function withoutNodes(parts: readonly (string | Buffer)[], nodesSize: number): string {
  // Two halves of characters must not become one where two texts meet.
  const sound = parts.map((text) => String(text).toWellFormed());
  const texts = sound.filter((_, at) => at % 2 === 1);
  return encodeChange(sound.filter((_, at) => at % 2 === 0), texts, [], nodesSize);
}

/** A change as the feed holds it, and the lengths of its texts in bytes. @param parts their keys and texts */
function inOne(parts: readonly string[], drop: readonly string[]): [Buffer, string] {
  const keys = parts.filter((_, at) => at % 2 === 0);
  const texts = parts.filter((_, at) => at % 2 === 1);
  const whole = encodeChange(keys, texts, drop);
  // The client would make them of a text, after it had counted them.
  const bytes = Buffer.from(whole);
  if (bytes.length === whole.length) return [bytes, ""];
  // Two halves of characters must not become one where two texts meet.
  const sound = texts.map((text) => text.toWellFormed());
  return [
    Buffer.from(encodeChange(keys.map((key) => key.toWellFormed()), sound, drop)),
    JSON.stringify(sound.map((text) => Buffer.byteLength(text))),
  ];
}

/** The text of the part that actors have in common; undefined if it is not written. */
function commonOf(put: ActorChange["put"]): string | undefined {
  for (const { key, text } of put) if (key === COMMON_KEY) return text;
  return undefined;
}

function bit(flag: boolean | undefined): number {
  return flag === true ? 1 : 0;
}

/**
 * Adds time and place among those that are waiting, uid of an index entry, the proof of the earlier one, the terms that both
 * have, those that only this one has, and those that only the earlier one has.
 */
function addFiling(id: string, index: IndexEntry, memory: ShardMemory, head: Head): Filing {
  const { createdAt, uid, waitsSince } = index;
  const before = memory.filedOf(id);
  const filing = memory.terms.filingOf(index);
  memory.noteSent(id, index, filing);
  head.push(String(createdAt), String(waitPlace(index) ?? ""), uid);
  // What is not there yet, or was filed under another time or uid, is filed anew by the script.
  if (before?.entry.createdAt !== createdAt || before.entry.uid !== uid) {
    head.push("", "[]", filing.terms.length, 0, ...filing.terms);
    return filing;
  }
  const { kept, fresh, gone } = refile(before.filing, filing);
  const { terms } = before.filing;
  // One that goes on waiting since another time has another place.
  const moved = before.entry.waitsSince !== waitsSince && terms.includes(WAIT_TERM) &&
    filing.terms.includes(WAIT_TERM);
  const all = moved ? [...fresh, WAIT_TERM] : fresh;
  head.push(before.proof, kept, all.length, gone.length, ...all, ...gone);
  return filing;
}

function isOtherPart(key: string): boolean {
  if (key.startsWith("@")) throw new Error(`Part key "${key}" begins with @, which Redis reserves`);
  return !key.startsWith(NODE_PART_PREFIX) && !COMMON_PARTS.includes(key);
}
