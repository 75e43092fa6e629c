/** The process that takes the inputs of one kind, as its parent sees it: one that hangs or dies is replaced by a new one. */
import { type ChildProcess, spawn } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import process from "node:process";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { MARK, type Request } from "./child.ts";
import type { Fault, Observation } from "./kind.ts";
import { jsonLine } from "./line.ts";
import { REDIS_PID } from "./stores/raw_store.ts";

const PROGRAM = fileURLToPath(new URL("./child.ts", import.meta.url));
const START_TIMEOUT_MS = 120_000;
/** Wall time after which an input hangs, ms. Far above the bound on blocks: the machine may be busy. */
export const HANG_MS = 60_000;
/** Heap with which the process dies, MiB: what the service is promised to stay below. */
const MAX_HEAP_MIB = 1024;
const V8_FLAGS = ["--expose-gc", `--max-old-space-size=${MAX_HEAP_MIB}`];

/** What came of an input: it was taken, or the process was lost over it. */
export type Taken = { observation: Observation } | { fault: Fault };

export class TargetProcess {
  readonly #kind: string;
  #child: ChildProcess | undefined;
  #hear: (answer: unknown) => void = () => {};
  #errors = "";
  /** Its temporary files. */
  #folder: string | undefined;

  constructor(kind: string) {
    this.#kind = kind;
  }

  /** Whether a process is there that has taken inputs before. */
  get isRunning(): boolean {
    return this.#child !== undefined;
  }

  /** Lets the process take an input. @param ms wall time after which it hangs */
  async run(input: unknown, ms = HANG_MS): Promise<Taken> {
    const answer = await this.#ask({ type: "run", input }, ms);
    return "fault" in answer ? answer : { observation: answer.value as Observation };
  }

  /** Memory that it holds when nothing runs, MiB; undefined when it died meanwhile. */
  async level(): Promise<number | undefined> {
    const answer = await this.#ask({ type: "level" }, HANG_MS);
    return "fault" in answer ? undefined : (answer.value as { level: number }).level;
  }

  stop(): void {
    const child = this.#child;
    this.#child = undefined;
    // Intentionally not `child.kill`: on Deno it works once only.
    if (child?.pid !== undefined && child.exitCode === null && child.signalCode === null) {
      process.kill(child.pid, "SIGKILL");
    }
    this.#sweep();
  }

  /** What it started ends with it, however it ended, and what it wrote is removed. */
  #sweep(): void {
    if (this.#folder === undefined) return;
    try {
      process.kill(Number(readFileSync(join(this.#folder, REDIS_PID), "utf8")), "SIGKILL");
    } catch {
      // It started none, or it is gone.
    }
    rmSync(this.#folder, { recursive: true, force: true });
    this.#folder = undefined;
  }

  async #ask(request: Request, ms: number): Promise<{ value: unknown } | { fault: Fault }> {
    if (this.#child === undefined) await this.#start();
    const answer = this.#next(ms);
    this.#child?.stdin?.write(`${jsonLine(request)}\n`);
    return await answer;
  }

  async #start(): Promise<void> {
    const isDeno = "Deno" in globalThis;
    const args = isDeno ? ["run", "-A", `--v8-flags=${V8_FLAGS.join(",")}`] : V8_FLAGS;
    this.#folder = mkdtempSync(join(tmpdir(), "sluice-fuzz-"));
    const child = spawn(process.execPath, [...args, PROGRAM, this.#kind], {
      stdio: ["pipe", "pipe", "pipe"],
      env: { ...process.env, NO_COLOR: "1", TMPDIR: this.#folder },
    });
    this.#child = child;
    this.#errors = "";
    // It may die while a request is written.
    child.stdin.on("error", () => {});
    createInterface({ input: child.stdout }).on("line", (line) => {
      if (line.startsWith(MARK)) this.#hear(JSON.parse(line.slice(MARK.length)));
    });
    child.stderr.on("data", (chunk) => this.#errors = (this.#errors + chunk).slice(-4_000));
    const ready = await this.#next(START_TIMEOUT_MS);
    if ("fault" in ready) {
      throw new Error(`The target of ${this.#kind} does not start: ${ready.fault.text}`);
    }
  }

  #next(ms: number): Promise<{ value: unknown } | { fault: Fault }> {
    const child = this.#child;
    return new Promise((resolve) => {
      const end = (answer: { value: unknown } | { fault: Fault }) => {
        clearTimeout(timer);
        child?.off("close", died);
        this.#hear = () => {};
        resolve(answer);
      };
      const died = (code: number | null, signal: string | null) => {
        this.#child = undefined;
        this.#sweep();
        const text = `ended with ${signal ?? code}: ${this.#errors.trim()}`;
        end({ fault: { type: "died", text } });
      };
      const timer = setTimeout(() => {
        this.stop();
        end({ fault: { type: "hang", text: `no answer within ${ms / 1_000} s` } });
      }, ms);
      child?.once("close", died);
      this.#hear = (value) => end({ value });
    });
  }
}
