/** The output of containers: streamed while they run, and kept when they have ended. */
import type { ChildProcess } from "node:child_process";
import { createWriteStream } from "node:fs";
import { rm, writeFile } from "node:fs/promises";
import { basename, join } from "node:path";
import { finished, Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import type { Clock } from "../../platform/clock.ts";
import {
  hasKeptLog,
  readKeptLog,
  TimedLines,
  timedLinesOf,
  ToldLog,
  writeKeptLog,
} from "./container_log.ts";
import { type ContainerCli, LONG_WORK_MS } from "./container_cli.ts";
import type { LogLine, LogQuery } from "../port.ts";
import { exists } from "./scratch.ts";
import type { TaskFolder } from "./scratch.ts";

/** How long a followed log waits for the next run of a container, ms. */
const FOLLOW_MS = 300;

/** Lines that wait for a reader, and their characters, at most, apart from those that come with the last of them. */
const MAX_QUEUE = 1_000;
const MAX_QUEUE_TEXT = 1024 * 1024;

/** Name of the container of a run in this folder. */
export function containerName(folder: TaskFolder, dir: string): string {
  return `${folder.name}-${basename(dir)}`;
}

export class ContainerOutput {
  readonly #cli: ContainerCli;
  readonly #clock: Clock;
  /** Outputs that are being copied, by the run's folder. */
  readonly #keeping = new Map<string, Promise<void>>();

  constructor(cli: ContainerCli, clock: Clock) {
    this.#cli = cli;
    this.#clock = clock;
  }

  /**
   * Copies the output of an ended container, once: exactly for the result, and with times for the log. Its end and a
   * cancellation may both ask for that, and the cancellation removes the container afterwards.
   */
  keep(dir: string, name: string): Promise<void> {
    const known = this.#keeping.get(dir);
    if (known !== undefined) return known;
    const keeping = this.#copy(dir, name).finally(() => this.#keeping.delete(dir));
    this.#keeping.set(dir, keeping);
    return keeping;
  }

  async #copy(dir: string, name: string): Promise<void> {
    if (await exists(join(dir, "log"))) return;
    const { code, stdout } = await this.#cli.run(["logs", name], LONG_WORK_MS);
    // The container is gone: another server has kept its output.
    if (code !== 0) return;
    await writeFile(join(dir, "stdout"), stdout);
    const [out, err] = [join(dir, "log.stdout"), join(dir, "log.stderr")] as const;
    try {
      if (await this.#save(["logs", "--timestamps", name], out, err) !== 0) return;
      await writeKeptLog(dir, timedLinesOf(out), timedLinesOf(err));
    } finally {
      await Promise.all([out, err].map((path) => rm(path, { force: true })));
    }
  }

  /** Writes the streams of the program to files; resolves to its exit code. */
  async #save(args: readonly string[], out: string, err: string): Promise<number> {
    const child = this.#cli.spawn(args);
    const cancel = this.#clock.after(LONG_WORK_MS, () => child.kill("SIGKILL"), true);
    const exited = exitOf(child).finally(cancel);
    const save = (stream: Readable | null, path: string) =>
      pipeline(stream ?? Readable.from([]), createWriteStream(path));
    await Promise.all([save(child.stdout, out), save(child.stderr, err)]);
    return await exited;
  }

  /** Lines of a container; `isOver` tells that the task starts no more containers. */
  async *logs(
    folder: TaskFolder,
    query: LogQuery,
    isOver: () => Promise<boolean>,
  ): AsyncGenerator<LogLine> {
    const told = new Map<string, ToldLog>();
    for (;;) {
      // Asked before anything is read. When it is over, all that will ever be kept can be read.
      const over = await isOver();
      for (const dir of await folder.runs(query.container)) {
        const run = told.get(dir) ?? new ToldLog();
        told.set(dir, run);
        for await (const line of this.#runLog(dir, folder, query, run)) {
          if (line.at >= (query.sinceMs ?? 0)) yield line;
        }
      }
      if (!query.follow || over || query.signal.aborted) return;
      await this.#clock.sleep(FOLLOW_MS, query.signal);
    }
  }

  /**
   * The lines of a run that were not told yet. A container is removed once its log is kept, and the program's stream may end
   * before the last lines: those come from the kept log.
   */
  async *#runLog(
    dir: string,
    folder: TaskFolder,
    query: LogQuery,
    run: ToldLog,
  ): AsyncGenerator<LogLine> {
    if (run.isComplete) return;
    let isKept = await hasKeptLog(dir);
    if (!isKept && !run.isStreamed && await exists(join(dir, "started"))) {
      run.isStreamed = true;
      const args = ["logs", "--timestamps"];
      if (query.follow) args.push("--follow");
      if (query.tailLines !== undefined) args.push("--tail", String(query.tailLines));
      for await (const line of this.#stream([...args, containerName(folder, dir)], query.signal)) {
        run.add(line);
        yield line;
      }
      isKept = await hasKeptLog(dir);
    }
    if (!isKept) return;
    run.isComplete = true;
    yield* run.restOf(() => readKeptLog(dir), query.tailLines);
  }

  /** Lines of both streams with their times, as they come; returns the program's exit code. */
  async *#stream(
    args: readonly string[],
    signal?: AbortSignal,
  ): AsyncGenerator<LogLine, number, void> {
    const child = this.#cli.spawn(args);
    const exited = exitOf(child);
    const stop = () => child.kill();
    signal?.addEventListener("abort", stop);
    if (signal?.aborted) stop();
    const queue: LogLine[] = [];
    let waiting = 0;
    let wake = Promise.withResolvers<void>();
    const open = new Set<Readable>();
    const add = (lines: Iterable<LogLine>) => {
      for (const line of lines) {
        queue.push(line);
        waiting += line.text.length;
      }
      // Whoever is too slow is waited for.
      if (queue.length >= MAX_QUEUE || waiting >= MAX_QUEUE_TEXT) {
        for (const stream of open) stream.pause();
      }
      wake.resolve();
    };
    for (const stream of [child.stdout, child.stderr]) {
      if (stream === null) continue;
      open.add(stream);
      const lines = new TimedLines();
      stream.on("data", (chunk: Buffer) => add(lines.linesOf(chunk)));
      finished(stream, { writable: false }, () => {
        open.delete(stream);
        add(lines.rest());
      });
    }
    try {
      for (;;) {
        for (let line = queue.shift(); line !== undefined; line = queue.shift()) {
          waiting -= line.text.length;
          yield line;
        }
        if (open.size === 0) return await exited;
        for (const stream of open) stream.resume();
        await wake.promise;
        wake = Promise.withResolvers();
      }
    } finally {
      signal?.removeEventListener("abort", stop);
      child.kill();
    }
  }
}

function exitOf(child: ChildProcess): Promise<number> {
  return new Promise((resolve) => {
    child.once("error", () => resolve(1));
    child.once("close", (code) => resolve(code ?? 1));
  });
}
