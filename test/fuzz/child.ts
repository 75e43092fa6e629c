/**
 * The program that takes fuzzed inputs, in a process of its own: `child.ts KIND`. A line on standard input is a request, a
 * line that begins with MARK on standard output its answer; anything else there is somebody's log.
 */
import process from "node:process";
import { createInterface } from "node:readline";
import { setTimeout as sleep } from "node:timers/promises";
import type { Observation } from "./kind.ts";
import { loadKind } from "./kinds.ts";
import { jsonLine } from "./line.ts";
import { watchLoop } from "./loop_watch.ts";

/** Begins the lines that are answers. */
export const MARK = "\u0001";

/** What the parent asks: to take an input, or how much memory is held when nothing runs. */
export type Request = { type: "run"; input: unknown } | { type: "level" };

const MIB = 1024 * 1024;
/** Most collections before the memory that is held is told. */
const MAX_ROUNDS = 40;

async function main(name: string): Promise<void> {
  const kind = await loadKind(name);
  const target = await kind.open();
  const answer = (value: unknown) => process.stdout.write(`${MARK}${jsonLine(value)}\n`);
  answer({ ready: true });
  for await (const line of createInterface({ input: process.stdin })) {
    const request = JSON.parse(line) as Request;
    answer(request.type === "level" ? await level() : await observe(target.run, request.input));
  }
  // What the target opened need not be closed: the process ends.
  process.exit(0);
}

async function observe(
  run: (input: unknown) => string | Promise<string>,
  input: unknown,
): Promise<Observation> {
  const { result, blockMs } = await watchLoop(() => run(input));
  const polluted = Object.keys(Object.prototype);
  const error = result.status === "rejected"
    ? textOf(result.reason)
    : polluted.length > 0
    ? `Object.prototype has got ${polluted}`
    : undefined;
  for (const key of polluted) delete (Object.prototype as Record<string, unknown>)[key];
  return {
    outcome: result.status === "fulfilled" ? result.value : "",
    blockMs,
    rss: process.memoryUsage.rss(),
    ...(error === undefined ? {} : { error }),
  };
}

function textOf(reason: unknown): string {
  if (!(reason instanceof Error)) return `thrown: ${String(reason)}`;
  const stack = reason.stack ?? "";
  return `${reason.name}: ${reason.message}`.slice(0, 2_000) +
    stack.slice(stack.indexOf("\n    at ")).split("\n").slice(0, 8).join("\n");
}

/** Memory that is held when all that can be freed is, MiB. */
async function level(): Promise<{ level: number }> {
  const { gc } = globalThis as { gc?: () => void };
  let lowest = Infinity;
  // On a busy machine work that is under way holds memory for longer.
  for (let quiet = 0, round = 0; quiet < 3 && round < MAX_ROUNDS; round++) {
    gc?.();
    await sleep(20);
    const { heapUsed, external } = process.memoryUsage();
    const now = (heapUsed + external) / MIB;
    quiet = now > lowest - 0.5 ? quiet + 1 : 0;
    lowest = Math.min(lowest, now);
  }
  return { level: lowest };
}

if (import.meta.main) await main(process.argv[2] ?? "");
