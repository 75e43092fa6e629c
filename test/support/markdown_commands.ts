/**
 * Runs the commands of a page as its reader would: every `sh` block in its order, in one shell. A block marked
 * `sh background` runs in a terminal of its own until the end, or until it is stopped. A block without a language after one shows what its last
 * command prints; ids, times and durations may differ.
 */
import { type ChildProcess, spawn } from "node:child_process";
import { readFileSync } from "node:fs";
import process from "node:process";

export interface Block {
  /** Line of the page, from 1. */
  line: number;
  isBackground: boolean;
  /** The word after `sh`. */
  mark: string;
  commands: string;
  /** What the last command prints. */
  printed: string | undefined;
}

const OUTPUT_TIMEOUT_MS = 60_000;

/** The blocks of a page in their order. */
export function blocksOf(file: string): Block[] {
  const lines = readFileSync(file, "utf8").split("\n");
  const blocks: Block[] = [];
  for (let at = 0; at < lines.length; at++) {
    const [, info] = /^```(.*)$/.exec(lines[at] ?? "") ?? [];
    if (info === undefined) continue;
    const end = lines.indexOf("```", at + 1);
    const text = lines.slice(at + 1, end).join("\n");
    const last = blocks.at(-1);
    if (/^sh( |$)/.test(info)) {
      const mark = info.slice(3);
      const isBackground = mark === "background";
      blocks.push({ line: at + 1, isBackground, mark, commands: text, printed: undefined });
    } else if (info === "" && last !== undefined && last.printed === undefined) {
      last.printed = text;
    }
    at = end;
  }
  return blocks;
}

/** Text without what differs from run to run: random parts of names, ids, times, durations, and widths. */
export function comparable(text: string): string {
  return text
    .replace(/[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}/g, "ID")
    .replace(/\d{4}-\d\d-\d\dT[\d:.]+Z/g, "TIME")
    .replace(/\b\d{14}-[a-z0-9]{8}\b/g, "SUFFIX")
    .replace(/\b([a-z]+(?:-[a-z]+)*)-[a-z0-9]{5}(-\d+)?\b/g, "$1-SUFFIX")
    .replace(/\b(\d+[smhd])+\b/g, "DURATION")
    .replace(/ +/g, " ")
    .replace(/ $/gm, "")
    .trim();
}

export class Shell {
  readonly #process: ChildProcess;
  #background: ChildProcess[] = [];
  readonly #options: { cwd: string; env: NodeJS.ProcessEnv };
  readonly #patienceMs: number;
  #out = "";

  /** @param patienceMs how long a block of commands may take */
  constructor(
    options: { cwd: string; env: NodeJS.ProcessEnv },
    patienceMs: number = OUTPUT_TIMEOUT_MS,
  ) {
    this.#options = options;
    this.#patienceMs = patienceMs;
    this.#process = spawn("bash", ["--norc"], { ...options, stdio: "pipe" });
    this.#process.stdout?.on("data", (chunk) => (this.#out += chunk));
    this.#process.stderr?.on("data", (chunk) => (this.#out += chunk));
    this.#process.stdin?.write("shopt -s expand_aliases\n");
  }

  /** Runs something in a terminal of its own. */
  start(commands: string): void {
    this.#background.push(
      spawn("bash", ["-c", commands], { ...this.#options, stdio: "ignore", detached: true }),
    );
  }

  /** Ends what runs in other terminals as Ctrl-C does, and waits for it. */
  async stop(): Promise<void> {
    const all = this.#background;
    this.#background = [];
    await Promise.all(all.map(async (one) => {
      if (one.exitCode !== null || one.pid === undefined) return;
      const ended = new Promise((done) => one.once("exit", done));
      process.kill(-one.pid, "SIGINT");
      await ended;
    }));
  }

  /** What a command prints. @throws when it fails, or takes too long */
  async run(commands: string): Promise<string> {
    const from = this.#out.length;
    this.#process.stdin?.write(`${commands}\necho "status:$?:"\n`);
    const deadline = Date.now() + this.#patienceMs;
    while (Date.now() < deadline) {
      const [, printed, status] = /^([^]*?)status:(\d+):\n/.exec(this.#out.slice(from)) ?? [];
      if (printed !== undefined) {
        if (status !== "0") throw new Error(`${commands}\nstatus ${status}: ${printed}`);
        return printed;
      }
      await new Promise((done) => setTimeout(done, 20));
    }
    throw new Error(`${commands}\ndoes not end: ${this.#out.slice(from)}`);
  }

  /** Ends everything that was started. */
  close(): void {
    this.#process.kill("SIGKILL");
    for (const { pid } of this.#background) {
      try {
        if (pid !== undefined) process.kill(-pid, "SIGKILL");
      } catch {
        // It has ended.
      }
    }
  }
}

/** A block's commands without the last one, and that one. A document in the shell belongs to its command. */
export function splitLast(commands: string): [before: string, last: string] {
  const lines = commands.split("\n");
  let begin = lines.length - 1;
  while (begin > 0 && (lines[begin - 1]?.endsWith("\\") ?? false)) begin--;
  return [lines.slice(0, begin).join("\n"), lines.slice(begin).join("\n")];
}
