/** Texts of answers. Those of large ones are written piece by piece, so that others get their turn. */
import { isJsonObject, type Json, type JsonObject, setMember } from "../base/json.ts";
import { escapeMarkup, writeJson } from "../base/json_text.ts";
import { isShared } from "../base/shared_json.ts";
import type { Deadlines } from "../platform/deadlines.ts";
import { Turns } from "../platform/turns.ts";

/** An object or a list with more members is written in pieces. */
const MAX_MEMBERS = 250;
/** How deep large objects and lists are searched for: `items`, one of them, its `status`, its `nodes`. */
const DEPTH = 4;
/** The same in an object that is no list: its `status`, its `nodes`. */
const OBJECT_DEPTH = 2;

// A memo: to begin with the members of a very large object takes long, and each is asked for several times. Answers are
// not changed.
const large = new WeakSet<object>();

/** Tells whether an answer is large enough to be written in pieces. */
export function isLargeAnswer(
  answer: Json | undefined,
  depth: number = isJsonObject(answer) && answer.items ? DEPTH : OBJECT_DEPTH,
): boolean {
  if (typeof answer !== "object" || answer === null) return false;
  if (large.has(answer)) return true;
  const isLarge = hasMuch(answer, depth);
  if (isLarge) large.add(answer);
  return isLarge;
}

function hasMuch(answer: Json[] | JsonObject, depth: number): boolean {
  if (Array.isArray(answer)) {
    if (answer.length > MAX_MEMBERS) return !isShared(answer);
    return depth > 0 && answer.some((item) => isLargeAnswer(item, depth - 1));
  }
  // A plain loop, because every answer comes through here.
  let count = 0;
  for (const key in answer) {
    // What is shared is small.
    if (++count > MAX_MEMBERS) return !isShared(answer);
    const member = answer[key];
    if (depth > 0 && typeof member === "object" && isLargeAnswer(member, depth - 1)) return true;
  }
  return false;
}

/** What is told of an answer on its way. */
export interface Sender {
  /** It is being sent. @param cut ends that */
  begin(cut: () => void): void;
  /** A part of it was taken. */
  taken(): void;
  /** It is sent, or nobody wants it any more. */
  release(): void;
}

/**
 * An answer as a stream, which is written on demand and never much at a time. Whoever reads it too slowly is cut off, because
 * the answer takes much memory meanwhile.
 *
 * @param answer its pieces, as `answerPieces` or `textPieces` make them
 * @param waits how long a reader may take for `LEAST_READ` characters
 */
export function answerStream(
  answer: Iterable<string>,
  waits: Deadlines,
  sender: Sender,
): ReadableStream<Uint8Array> {
  const encoder = new TextEncoder();
  let pieces = answer[Symbol.iterator]();
  const turns = new Turns();
  let stop = (_reason: Error): void => {};
  let isOver = false;
  const end = () => {
    isOver = true;
    inTime();
    // Forgets the answer, whoever still holds the stream.
    pieces = [][Symbol.iterator]();
    sender.release();
  };
  const wait = () => waits.add(() => stop(new Error("the answer was read too slowly")));
  let inTime = wait();
  let left = LEAST_READ;
  return new ReadableStream({
    start(controller) {
      stop = (reason) => {
        if (isOver) return;
        end();
        controller.error(reason);
      };
      sender.begin(() => stop(new Error("nothing of the answer was taken while others waited")));
    },
    cancel: end,
    async pull(controller) {
      sender.taken();
      await turns.pause();
      if (isOver) return;
      let text = "";
      while (text.length < CHUNK) {
        const { done, value } = pieces.next();
        if (done === true) {
          if (text !== "") controller.enqueue(encoder.encode(text));
          controller.close();
          end();
          return;
        }
        text += value;
      }
      controller.enqueue(encoder.encode(text));
      left -= text.length;
      if (left > 0) return;
      inTime();
      inTime = wait();
      left = LEAST_READ;
    },
  });
}

/** A reader must take so many characters in a time. */
const LEAST_READ = 2 ** 20;
/** That time, ms. */
export const SLOW_MS = 30_000;
/** Characters that are sent together. */
const CHUNK = 2 ** 16;
/** Members that are written together. */
const GROUP = 20;

/** The pieces of the text of an answer, as `writeJson` makes it, none of them long. */
export function answerPieces(answer: JsonObject): Iterable<string> {
  return shortPieces(piecesOf(answer, DEPTH));
}

/** The pieces of a JSON text that still has its markup as it is. */
export function* textPieces(text: string): Generator<string> {
  for (const piece of shortPieces([text])) yield escapeMarkup(piece);
}

/** The pieces, none of them much longer than what is sent together. */
export function* shortPieces(pieces: Iterable<string>): Generator<string> {
  for (const piece of pieces) {
    for (let from = 0; from < piece.length;) {
      let to = from + CHUNK;
      // No character is cut in two.
      if ((piece.charCodeAt(to - 1) & 0xfc00) === 0xd800) to++;
      yield piece.slice(from, to);
      from = to;
    }
  }
}

/** The text that `writeJson` makes, in pieces. */
function* piecesOf(value: Json | undefined, depth: number): Generator<string> {
  if (Array.isArray(value) && isLargeAnswer(value, depth)) {
    yield* listPieces(value, depth);
  } else if (isJsonObject(value) && isLargeAnswer(value, depth)) {
    yield* objectPieces(value, depth);
  } else yield writeJson(value ?? null);
}

function* listPieces(items: Json[], depth: number): Generator<string> {
  let open = "[";
  let group: Json[] = [];
  for (const item of items) {
    const isLarge = isLargeAnswer(item, depth - 1);
    if (!isLarge) group.push(item);
    if (group.length === GROUP || (isLarge && group.length > 0)) {
      yield open + writeJson(group).slice(1, -1);
      [open, group] = [",", []];
    }
    if (!isLarge) continue;
    yield open;
    yield* piecesOf(item, depth - 1);
    open = ",";
  }
  if (group.length > 0 || items.length === 0) yield open + writeJson(group).slice(1, -1);
  yield "]";
}

function* objectPieces(object: JsonObject, depth: number): Generator<string> {
  let open = "{";
  let group: JsonObject = {};
  let size = 0;
  for (const key in object) {
    const member = object[key];
    if (member === undefined) continue;
    const isLarge = isLargeAnswer(member, depth - 1);
    if (!isLarge) {
      setMember(group, key, member);
      size++;
    }
    if (size === GROUP || (isLarge && size > 0)) {
      yield open + writeJson(group).slice(1, -1);
      [open, group, size] = [",", {}, 0];
    }
    if (!isLarge) continue;
    yield `${open}${writeJson(key)}:`;
    yield* piecesOf(member, depth - 1);
    open = ",";
  }
  if (size > 0 || open === "{") yield open + writeJson(group).slice(1, -1);
  yield "}";
}
