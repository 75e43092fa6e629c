/**
 * Logs of a local process. Its output goes straight into two files, so that it needs no living server; `times` says how
 * long each was when somebody looked, which gives every line the time at which it was seen, to half a second or so.
 */
import type { FileHandle } from "node:fs/promises";
import { defined } from "../../base/defined.ts";
import { lastOf } from "../../base/last_of.ts";
import type { Clock } from "../../platform/clock.ts";
import { appendInside, findInside, openInside } from "../../platform/files/inside.ts";
import type { Place } from "../../platform/files/place.ts";
import { linesInTurns, LineSplitter } from "../../platform/line_splitter.ts";
import { Turns } from "../../platform/turns.ts";
import type { LogLine, LogQuery } from "../port.ts";

const CHUNK_BYTES = 64 * 1024;
const LINE_FEED = 10;
/**
 * Files that stay open while their readers do something else: the lines of a workflow are read from all of its steps at once,
 * and there may be more of them than the process may open files.
 */
const MAX_KEPT_OPEN = 64;
let keptOpen = 0;
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
  readonly #signal: AbortSignal;
  #lines = new LineSplitter();
  #file: FileHandle | undefined;
  /** It is one of those that may stay open. */
  #isKept = false;

  constructor(place: Place, signal: AbortSignal) {
    this.#place = place;
    this.#signal = signal;
  }

  /** Complete lines up to a size of the file, which may stay open until `close`. */
  upTo(size: number): AsyncGenerator<string> {
    return linesInTurns(this.#pieces(size), (piece) => this.#lines.linesOf(piece), this.#signal);
  }

  async *#pieces(size: number): AsyncGenerator<Uint8Array> {
    while (this.position < size) {
      const file = await this.#open();
      if (file === undefined) return;
      const piece = await readPiece(file, this.position, size);
      if (piece.length === 0) return;
      this.position += piece.length;
      if (this.position >= size || !this.#mayKeep()) await this.close();
      yield piece;
    }
  }

  /**
   * Goes on before the last lines that end within a size of the file, and the one that has not ended there. What is passed over
   * is not made into lines: that would take a hundred times as long.
   */
  async passTo(size: number, lines: number): Promise<void> {
    if (size <= this.position) return;
    try {
      await this.#seek(size, lines);
    } finally {
      await this.close();
    }
  }

  async #seek(size: number, lines: number): Promise<void> {
    const file = await this.#open();
    const turns = new Turns("logs");
    let left = lines;
    for (let end = size; file !== undefined && end > this.position && !this.#signal.aborted;) {
      const start = Math.max(this.position, end - CHUNK_BYTES);
      const piece = await readPiece(file, start, end);
      for (let at = piece.length - 1; at >= 0; at--) {
        if (piece[at] !== LINE_FEED || left-- > 0) continue;
        this.position = start + at + 1;
        this.#lines = new LineSplitter();
        return;
      }
      end = start;
      await turns.pause();
    }
  }

  async #open(): Promise<FileHandle | undefined> {
    return this.#file ??= await openInside(this.#place).catch(() => undefined);
  }

  #mayKeep(): boolean {
    if (this.#isKept || keptOpen >= MAX_KEPT_OPEN) return this.#isKept;
    keptOpen++;
    return this.#isKept = true;
  }

  async close(): Promise<void> {
    const file = this.#file;
    this.#file = undefined;
    if (this.#isKept) keptOpen--;
    this.#isKept = false;
    await file?.close();
  }

  /** What is left of a last line without an end. */
  takeRest(): string | undefined {
    return this.#lines.takeRest();
  }
}

/** The bytes of a file from one place to another, or the first of them. */
async function readPiece(file: FileHandle, from: number, to: number): Promise<Uint8Array> {
  const piece = Buffer.alloc(Math.min(CHUNK_BYTES, to - from));
  const { bytesRead } = await file.read(piece, 0, piece.length, from);
  return piece.subarray(0, bytesRead);
}

/** What is read of a run. */
type RunQuery = Pick<LogQuery, "sinceMs" | "tailLines" | "signal">;

/** One run, read onwards in the order its lines were seen; stdout before stderr where both came at once. */
class RunCursor {
  readonly #dir: string;
  readonly #out: LineCursor;
  readonly #err: LineCursor;
  readonly #times: LineCursor;
  /** What is still to be passed over. */
  #query: RunQuery | undefined;
  /** When the last sample was taken, epoch ms; undefined before the first. */
  #sampledAt: number | undefined;

  constructor(dir: string, query: RunQuery) {
    this.#dir = dir;
    this.#query = query;
    this.#out = new LineCursor({ root: dir, path: "stdout" }, query.signal);
    this.#err = new LineCursor({ root: dir, path: "stderr" }, query.signal);
    this.#times = new LineCursor({ root: dir, path: "times" }, query.signal);
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
    samples.push(current);
    if (this.#query !== undefined) await this.#begin(samples, this.#query);
    for (const sample of samples) {
      for await (const text of this.#out.upTo(sample.stdout)) yield { at: sample.at, text };
      for await (const text of this.#err.upTo(sample.stderr)) yield { at: sample.at, text };
    }
    if (!isLast) return;
    for (const cursor of [this.#out, this.#err]) {
      const text = cursor.takeRest();
      if (text !== undefined) yield { at: current.at, text };
    }
  }

  /** Passes over most of what is not wanted, once. */
  async #begin(samples: readonly LogSample[], { sinceMs = 0, tailLines }: RunQuery): Promise<void> {
    this.#query = undefined;
    const first = samples.findIndex(({ at }) => at >= sinceMs);
    const old = first < 0 ? samples.at(-1) : samples[first - 1];
    if (old !== undefined) await this.#passTo(old, 0);
    const all = samples.at(-1);
    if (all !== undefined && tailLines !== undefined) await this.#passTo(all, tailLines);
  }

  async #passTo({ stdout, stderr }: LogSample, lines: number): Promise<void> {
    await this.#out.passTo(stdout, lines);
    await this.#err.passTo(stderr, lines);
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
  const { sinceMs = 0, signal } = query;
  // Only what is there at the beginning is cut to its last lines.
  let { tailLines } = query;
  const next = async function* (isLast: boolean) {
    for (const dir of await runs()) {
      const cursor = cursors.get(dir) ??
        new RunCursor(dir, { sinceMs, signal, ...defined({ tailLines }) });
      cursors.set(dir, cursor);
      for await (const line of cursor.next(clock.now(), isLast)) {
        if (line.at >= sinceMs) yield line;
      }
    }
  };
  for (;;) {
    // Asked before anything is read, so that nothing written until the end is left out.
    const isLast = !query.follow || signal.aborted || await isEnded();
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
    await clock.sleep(FOLLOW_MS, signal);
  }
}
