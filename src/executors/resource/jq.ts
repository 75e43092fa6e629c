/**
 * jq filters over objects of the cluster. They run in a process of their own, which is killed when a filter takes too
 * long: Deno does not end a thread that is busy.
 */
import { type ChildProcess, spawn } from "node:child_process";
import process from "node:process";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import type { JsonObject } from "../../base/json.ts";
import type { Clock } from "../../platform/clock.ts";
import { FairLimiter } from "../../platform/fair_limiter.ts";

/** How long a filter may take, ms: most take a few. What it may write meanwhile fits into memory. */
const FILTER_MS = 2_000;
/** How long the process may take to start, ms. */
const START_MS = 30_000;
/** How long the process waits for the next filter, ms. */
const IDLE_MS = 30_000;
/** Filters that one process runs. */
const MAX_FILTERS = 20;
/** Processor time of a process, s: more than its filters may take. It ends what its server, once killed, no longer can. */
const MAX_PROCESSOR_S = 60;
/** Heap of the process beside the memory of jq, MiB. */
const HEAP_MIB = 128;

/** A filter and what it is given, as a line for the process. */
export interface JqMessage {
  filter: string;
  object: JsonObject;
}

/** The line that the process answers. */
export type JqAnswer = { text: string } | { reason: string };

export class Jq {
  readonly #clock: Pick<Clock, "after">;
  readonly #command: readonly string[];
  /** Filters run one after the other; namespaces take turns. */
  readonly #turns = new FairLimiter(1);
  #process: JqProcess | undefined;
  #filters = 0;
  #cancelIdle = () => {};
  #isClosed = false;

  /** @param command starts the process; empty: this runtime */
  constructor(clock: Pick<Clock, "after">, command: readonly string[] = []) {
    this.#clock = clock;
    this.#command = command.length > 0 ? command : ownCommand();
  }

  /**
   * What a filter makes of an object, one line for each result: text as it is, anything else as JSON. Blanks at both ends
   * are cut off, as in the reference.
   * @throws {Error} when the filter can't be read, does not fit the object, or takes too much
   */
  read(
    namespace: string,
    filter: string,
    object: JsonObject,
    signal?: AbortSignal,
  ): Promise<string> {
    return this.#turns.run(namespace, () => this.#run({ filter, object }), signal);
  }

  async #run(message: JqMessage): Promise<string> {
    if (this.#isClosed) throw new Error("the server stops");
    this.#cancelIdle();
    try {
      const running = this.#process ?? await this.#start();
      const line = await running.ask(JSON.stringify(message), FILTER_MS);
      const answer = JSON.parse(line) as JqAnswer;
      if ("reason" in answer) throw new Error(answer.reason);
      return answer.text;
    } finally {
      if (++this.#filters >= MAX_FILTERS || this.#process?.hasEnded === true) this.#end();
      else this.#cancelIdle = this.#clock.after(IDLE_MS, () => this.#end(), true);
    }
  }

  async #start(): Promise<JqProcess> {
    this.#filters = 0;
    this.#process = new JqProcess(this.#clock, this.#command);
    // It answers when it is ready.
    await this.#process.ask("", START_MS);
    return this.#process;
  }

  #end(): void {
    this.#cancelIdle();
    this.#process?.kill();
    this.#process = undefined;
  }

  /** Ends the process; a filter that runs fails. */
  close(): void {
    this.#isClosed = true;
    this.#end();
  }
}

class JqProcess {
  readonly #child: ChildProcess;
  readonly #clock: Pick<Clock, "after">;
  #settle: ((line: string | Error) => void) | undefined;
  hasEnded = false;

  constructor(clock: Pick<Clock, "after">, [program = "", ...args]: readonly string[]) {
    this.#clock = clock;
    this.#child = spawn(program, args, {
      stdio: ["pipe", "pipe", "ignore"],
      env: environment(),
    });
    const { stdin, stdout } = this.#child;
    const lost = (cause: unknown) => {
      this.hasEnded = true;
      this.#settle?.(new Error("the process of jq has ended", { cause }));
    };
    this.#child.on("error", lost);
    this.#child.on("exit", lost);
    // It has ended, which is told anyway.
    stdin?.on("error", () => {});
    if (stdout !== null) {
      createInterface({ input: stdout }).on("line", (line) => this.#settle?.(line));
    }
  }

  /** Writes a line and gives the answer. A process that does not answer in time is killed. */
  ask(line: string, ms: number): Promise<string> {
    return new Promise((resolve, reject) => {
      const cancelTimer = this.#clock.after(ms, () => {
        this.kill();
        this.#settle?.(new Error(`jq has not answered within ${ms / 1000} s`));
      });
      this.#settle = (answer) => {
        this.#settle = undefined;
        cancelTimer();
        if (typeof answer === "string") resolve(answer);
        else reject(answer);
      };
      if (this.hasEnded) this.#settle(new Error("the process of jq has ended"));
      else this.#child.stdin?.write(`${line}\n`);
    });
  }

  kill(): void {
    this.hasEnded = true;
    this.#child.kill("SIGKILL");
  }
}

/** Runs the process on this runtime. */
function ownCommand(): string[] {
  // The name of this module ends in .js in the built package.
  const extension = import.meta.url.slice(import.meta.url.lastIndexOf("."));
  const module = fileURLToPath(new URL(`./jq_process${extension}`, import.meta.url));
  const heap = `--max-old-space-size=${HEAP_MIB}`;
  const runtime = "Deno" in globalThis
    ? ["run", "--quiet", "--no-prompt", "--allow-read", `--v8-flags=${heap}`]
    : [heap];
  const script = `ulimit -t ${MAX_PROCESSOR_S}; exec "$@"`;
  return ["/bin/sh", "-c", script, "sluice-jq", process.execPath, ...runtime, module];
}

/** What the runtime needs, and no secret. */
function environment(): NodeJS.ProcessEnv {
  const names = ["PATH", "HOME", "TMPDIR", "XDG_CACHE_HOME", "DENO_DIR", "DENO_NO_UPDATE_CHECK"];
  return Object.fromEntries(names.flatMap((name) => {
    const value = process.env[name];
    return value === undefined ? [] : [[name, value]];
  }));
}
