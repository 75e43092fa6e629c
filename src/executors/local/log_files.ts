/**
 * Logs of a local process. Its output goes straight into two files, so that it needs no living server; `times` says how
 * long each was when somebody looked, which gives every line the time at which it was seen, to half a second or so.
 */
import type { FileHandle } from "node:fs/promises";
import { lastOf } from "../../base/last_of.ts";
import type { Clock } from "../../platform/clock.ts";
import { appendInside, findInside, openInside } from "../../platform/files/inside.ts";
import type { Place } from "../../platform/files/place.ts";
import { LineSplitter } from "../../platform/line_splitter.ts";
import type { LogLine, LogQuery } from "../port.ts";

const CHUNK_BYTES = 64 * 1024;
/** How often a followed log is looked at. */
const FOLLOW_MS = 200;

/** Sizes of both streams at a time. */
export interface LogSample {
  at: number;
  stdout: number;
  stderr: number;
}

async function sizeOf(place: Place): Promise<number> {
  return await findInside(place).then((found) => found?.size ?? 0, () => 0);
}

async function currentSample(dir: string, at: number): Promise<LogSample> {
  const [stdout, stderr] = await Promise.all([
    sizeOf({ root: dir, path: "stdout" }),
    sizeOf({ root: dir, path: "stderr" }),
  ]);
  return { at, stdout, stderr };
}

/** Notes the sizes now, when something was written since `last`. Gives what is to be `last` next time. */
export async function sampleLog(dir: string, at: number, last?: LogSample): Promise<LogSample> {
  const now = await currentSample(dir, at);
  if (now.stdout === (last?.stdout ?? 0) && now.stderr === (last?.stderr ?? 0)) return last ?? now;
  const times = { root: dir, path: "times" };
  await appendInside(times, `${now.at} ${now.stdout} ${now.stderr}\n`);
  return now;
}

/** A sample of the file of sizes. */
function sampleOf(line: string): LogSample {
  const [at = 0, stdout = 0, stderr = 0] = line.split(" ").map(Number);
  return { at, stdout, stderr };
}

/** A file, read onwards line by line. */
class LineCursor {
  position = 0;
  readonly #place: Place;
  readonly #lines = new LineSplitter();
  #file: FileHandle | undefined;

  constructor(place: Place) {
    this.#place = place;
  }

  /** Complete lines up to a size of the file, which stays open until `close`. */
  async *upTo(size: number): AsyncGenerator<string> {
    if (size <= this.position) return;
    this.#file ??= await openInside(this.#place).catch(() => undefined);
    if (this.#file === undefined) return;
    while (this.position < size) {
      const chunk = await this.#read(this.#file, size);
      if (chunk.length === 0) return;
      yield* this.#lines.linesOf(chunk);
    }
  }

  async close(): Promise<void> {
    await this.#file?.close();
    this.#file = undefined;
  }

  async #read(file: FileHandle, size: number): Promise<Uint8Array> {
    const chunk = Buffer.alloc(Math.min(CHUNK_BYTES, size - this.position));
    const { bytesRead } = await file.read(chunk, 0, chunk.length, this.position);
    this.position += bytesRead;
    return chunk.subarray(0, bytesRead);
  }

  /** What is left of a last line without an end. */
  takeRest(): string | undefined {
    return this.#lines.takeRest();
  }
}

/** One run, read onwards in the order its lines were seen; stdout before stderr where both came at once. */
class RunCursor {
  readonly #dir: string;
  readonly #out: LineCursor;
  readonly #err: LineCursor;
  readonly #times: LineCursor;
  /** When the last sample was taken, epoch ms; undefined before the first. */
  #sampledAt: number | undefined;

  constructor(dir: string) {
    this.#dir = dir;
    this.#out = new LineCursor({ root: dir, path: "stdout" });
    this.#err = new LineCursor({ root: dir, path: "stderr" });
    this.#times = new LineCursor({ root: dir, path: "times" });
  }

  /** Lines since the last call. `isLast`: nothing more will come, so an unfinished line is a line too. */
  async *next(now: number, isLast: boolean): AsyncGenerator<LogLine> {
    try {
      yield* this.#linesSince(now, isLast);
    } finally {
      for (const cursor of [this.#times, this.#out, this.#err]) await cursor.close();
    }
  }

  async *#linesSince(now: number, isLast: boolean): AsyncGenerator<LogLine> {
    const samples: LogSample[] = [];
    const timesSize = await sizeOf({ root: this.#dir, path: "times" });
    for await (const line of this.#times.upTo(timesSize)) samples.push(sampleOf(line));
    this.#sampledAt = samples.at(-1)?.at ?? this.#sampledAt;
    const current = await currentSample(this.#dir, now);
    if (isLast) current.at = this.#sampledAt ?? now;
    for (const sample of [...samples, current]) {
      for await (const text of this.#out.upTo(sample.stdout)) yield { at: sample.at, text };
      for await (const text of this.#err.upTo(sample.stderr)) yield { at: sample.at, text };
    }
    if (!isLast) return;
    for (const cursor of [this.#out, this.#err]) {
      const text = cursor.takeRest();
      if (text !== undefined) yield { at: current.at, text };
    }
  }
}

/**
 * Lines of a container, over all its runs.
 *
 * @param runs Folders so far, oldest first; asked again while following.
 * @param isEnded True when nothing will be written any more.
 */
export async function* readLogs(
  runs: () => Promise<string[]>,
  isEnded: () => Promise<boolean>,
  query: LogQuery,
  clock: Clock,
): AsyncGenerator<LogLine> {
  const cursors = new Map<string, RunCursor>();
  const next = async function* (isLast: boolean) {
    for (const dir of await runs()) {
      const cursor = cursors.get(dir) ?? new RunCursor(dir);
      cursors.set(dir, cursor);
      for await (const line of cursor.next(clock.now(), isLast)) {
        if (line.at >= (query.sinceMs ?? 0)) yield line;
      }
    }
  };
  // Only what is there at the beginning is cut to its last lines.
  let { tailLines } = query;
  for (;;) {
    // Asked before anything is read, so that nothing written until the end is left out.
    const isLast = !query.follow || query.signal.aborted || await isEnded();
    if (tailLines === undefined) yield* next(isLast);
    else {
      const fromStart = () => {
        cursors.clear();
        return next(isLast);
      };
      yield* lastOf(fromStart, tailLines, ({ text }) => text.length);
      tailLines = undefined;
    }
    if (isLast) return;
    await clock.sleep(FOLLOW_MS, query.signal);
  }
}
