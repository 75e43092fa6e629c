/** The output of containers: streamed while they run, and kept when they have ended. */
import { writeFile } from "node:fs/promises";
import { basename, join } from "node:path";
import { createInterface } from "node:readline";
import type { Readable } from "node:stream";
import type { Clock } from "../../platform/clock.ts";
import { parseLogLine, readKeptLog, ToldLog, writeKeptLog } from "./container_log.ts";
import type { ContainerCli } from "./container_cli.ts";
import type { LogLine, LogQuery } from "../port.ts";
import { exists } from "./scratch.ts";
import type { TaskFolder } from "./scratch.ts";

/** How long a followed log waits for the next run of a container, ms. */
const FOLLOW_MS = 300;

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
    const { code, stdout } = await this.#cli.run(["logs", name]);
    // The container is gone: another server has kept its output.
    if (code !== 0) return;
    await writeFile(join(dir, "stdout"), stdout);
    const lines: LogLine[] = [];
    const stream = this.#stream(["logs", "--timestamps", name]);
    let next = await stream.next();
    for (; !next.done; next = await stream.next()) lines.push(next.value);
    if (next.value === 0) await writeKeptLog(dir, lines);
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
    let kept = await readKeptLog(dir);
    if (kept === undefined && !run.isStreamed && await exists(join(dir, "started"))) {
      run.isStreamed = true;
      const args = ["logs", "--timestamps"];
      if (query.follow) args.push("--follow");
      if (query.tailLines !== undefined) args.push("--tail", String(query.tailLines));
      for await (const line of this.#stream([...args, containerName(folder, dir)], query.signal)) {
        run.add(line);
        yield line;
      }
      kept = await readKeptLog(dir);
    }
    if (kept === undefined) return;
    run.isComplete = true;
    yield* run.restOf(kept, query.tailLines);
  }

  /** Lines of both streams with their times, as they come; returns the program's exit code. */
  async *#stream(
    args: readonly string[],
    signal?: AbortSignal,
  ): AsyncGenerator<LogLine, number, void> {
    const child = this.#cli.spawn(args);
    const exited = new Promise<number>((resolve) => {
      child.once("error", () => resolve(1));
      child.once("close", (code) => resolve(code ?? 1));
    });
    const stop = () => child.kill();
    signal?.addEventListener("abort", stop);
    const queue: LogLine[] = [];
    let wake = Promise.withResolvers<void>();
    let open = 2;
    for (const stream of [child.stdout, child.stderr]) {
      if (stream === null) continue;
      const lines = createInterface({ input: stream as Readable });
      lines.on("line", (line) => {
        const parsed = parseLogLine(line);
        if (parsed !== undefined) queue.push(parsed);
        wake.resolve();
      });
      lines.once("close", () => {
        open--;
        wake.resolve();
      });
    }
    try {
      for (;;) {
        for (let line = queue.shift(); line !== undefined; line = queue.shift()) yield line;
        if (open === 0) return await exited;
        await wake.promise;
        wake = Promise.withResolvers();
      }
    } finally {
      signal?.removeEventListener("abort", stop);
      child.kill();
    }
  }
}
