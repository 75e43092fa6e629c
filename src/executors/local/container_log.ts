/** Logs of containers: lines with their times as the program prints them, and the copy that is kept of an ended run. */
import { createHash, randomUUID } from "node:crypto";
import { createReadStream, createWriteStream } from "node:fs";
import { rename } from "node:fs/promises";
import { join } from "node:path";
import { pipeline } from "node:stream/promises";
import { lastOf } from "../../base/last_of.ts";
import { joinedTexts, linesInTurns, LineSplitter } from "../../platform/line_splitter.ts";
import type { LogLine } from "../port.ts";
import { exists } from "./scratch.ts";

/** Bytes that a line of the kept log may have: more than a piece of a long line, whose invalid bytes take three times the room. */
const MAX_KEPT_LINE_BYTES = 4 * 1024 * 1024;

/** A time as podman and docker write it, with the blank behind it. */
const TIME_INSIDE = /(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{9}(Z|[+-]\d\d:\d\d)) /g;

/** Lines with their times, from the bytes that the program prints. */
export class TimedLines {
  readonly #splitter = new LineSplitter();
  /** The time of a line that is so long that it goes on in the next; only its beginning has it. */
  #goesOnAt: number | undefined;
  /** As the program wrote it, of the piece of a line that was read last. */
  #pieceTime = "";

  *linesOf(chunk: Uint8Array): Generator<LogLine> {
    for (const text of this.#splitter.linesOf(chunk)) yield* this.#read(text);
  }

  /** The last line, if it has no end. */
  *rest(): Generator<LogLine> {
    const text = this.#splitter.takeRest();
    if (text !== undefined) yield* this.#read(text);
  }

  *#read(text: string): Generator<LogLine> {
    const at = this.#goesOnAt;
    const line = at === undefined ? parseLogLine(text) : { at, text };
    if (at === undefined) this.#pieceTime = text.slice(0, text.indexOf(" "));
    if (line !== undefined) line.text = this.#withoutTimesInside(line.text);
    this.#goesOnAt = this.#splitter.goesOn ? line?.at : undefined;
    if (line !== undefined) yield line;
  }

  /**
   * A line that the container wrote in pieces has a time before each of them, also without a line break between them. Those
   * times never go back. One that the container itself wrote is earlier than that of its piece, and stays.
   */
  #withoutTimesInside(text: string): string {
    return text.replace(TIME_INSIDE, (found, time: string, zone: string) => {
      // In one zone the order of the texts is that of the times, to the nanosecond.
      if (!this.#pieceTime.endsWith(zone) || time < this.#pieceTime) return found;
      if (!(Date.parse(time) <= Date.now())) return found;
      this.#pieceTime = time;
      return "";
    });
  }
}

/** The lines with times in a file, a few at a time. */
export async function* timedLinesOf(path: string): AsyncGenerator<LogLine> {
  const lines = new TimedLines();
  yield* linesInTurns(createReadStream(path), (piece) => lines.linesOf(piece));
  yield* lines.rest();
}

/** Reads `<RFC 3339 time> <text>`; other lines are messages of the program and give undefined. */
export function parseLogLine(line: string): LogLine | undefined {
  const match = /^(\d{4}-\d\d-\d\dT\S+) ?(.*)$/s.exec(line);
  const at = Date.parse(match?.[1] ?? "");
  return Number.isNaN(at) ? undefined : { at, text: match?.[2] ?? "" };
}

/** Keeps the log of a run that ended: the lines of its two streams by their times, a few at a time. */
export async function writeKeptLog(
  dir: string,
  first: AsyncIterable<LogLine>,
  second: AsyncIterable<LogLine>,
): Promise<void> {
  const path = join(dir, "log");
  const fresh = `${path}.${randomUUID()}`;
  const texts = async function* () {
    for await (const { at, text } of mergedLines(first, second)) yield `${at} ${text}\n`;
  };
  await pipeline(joinedTexts(texts()), createWriteStream(fresh));
  await rename(fresh, path);
}

/** Lines of two logs in the order of their times. */
async function* mergedLines(
  first: AsyncIterable<LogLine>,
  second: AsyncIterable<LogLine>,
): AsyncGenerator<LogLine> {
  const others = second[Symbol.asyncIterator]();
  try {
    let other = await others.next();
    for await (const line of first) {
      for (; other.done !== true && other.value.at < line.at; other = await others.next()) {
        yield other.value;
      }
      yield line;
    }
    for (; other.done !== true; other = await others.next()) yield other.value;
  } finally {
    await others.return?.();
  }
}

/** The lines of the kept log, a few at a time. */
async function* keptLines(path: string): AsyncGenerator<string> {
  const splitter = new LineSplitter(MAX_KEPT_LINE_BYTES);
  yield* linesInTurns(createReadStream(path), (piece) => splitter.linesOf(piece));
  const rest = splitter.takeRest();
  if (rest !== undefined) yield rest;
}

/** Lines of the kept log, by their times. */
export async function* readKeptLog(dir: string): AsyncGenerator<LogLine> {
  for await (const line of keptLines(join(dir, "log"))) {
    const blank = line.indexOf(" ");
    yield { at: Number(line.slice(0, blank)), text: line.slice(blank + 1) };
  }
}

/** Tells whether the log of a run is kept. */
export function hasKeptLog(dir: string): Promise<boolean> {
  return exists(join(dir, "log"));
}

/** How much of a run's log a reader was told. */
export class ToldLog {
  /** The program was asked for it. */
  isStreamed = false;
  /** There is nothing more to tell. */
  isComplete = false;
  #lastAt: number | undefined;
  /** Lines of the last millisecond by their keys, and how often each. */
  #last = new Map<string, number>();

  /** Notes a line that the reader got. */
  add({ at, text }: LogLine): void {
    if (at < (this.#lastAt ?? at)) return;
    if (at !== this.#lastAt) this.#last.clear();
    this.#lastAt = at;
    const key = keyOf(text);
    this.#last.set(key, (this.#last.get(key) ?? 0) + 1);
  }

  /**
   * Lines of the whole log that come after those told; before the first one its last `tailLines`, or all.
   * @param read begins to read the whole log
   */
  async *restOf(read: () => AsyncIterable<LogLine>, tailLines?: number): AsyncGenerator<LogLine> {
    const from = this.#lastAt;
    if (from === undefined) {
      yield* tailLines === undefined ? read() : lastOf(read, tailLines, ({ text }) => text.length);
      return;
    }
    const told = new Map(this.#last);
    for await (const line of read()) {
      if (isAfter(line, from, told)) yield line;
    }
  }
}

/** @param told how often each line of the last millisecond was told; counted down */
function isAfter({ at, text }: LogLine, from: number, told: Map<string, number>): boolean {
  if (at !== from) return at > from;
  const key = keyOf(text);
  const count = told.get(key) ?? 0;
  told.set(key, count - 1);
  return count <= 0;
}

/** Longer texts are remembered by their digest: all pieces of a very long line have one time. */
const MAX_KEY_LENGTH = 1_000;

function keyOf(text: string): string {
  if (text.length <= MAX_KEY_LENGTH) return text;
  return createHash("sha256").update(text).digest("base64");
}
