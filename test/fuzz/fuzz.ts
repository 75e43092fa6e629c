/**
 * Tries inputs of one kind, one after the other, and makes what it finds small. An input that fails like one that was found
 * before, by its words, is counted and not looked at again.
 */
import fc from "fast-check";
import type { Fault, FuzzKind } from "./kind.ts";
import { loadKind } from "./kinds.ts";
import { HANG_MS, TargetProcess } from "./target_process.ts";

const MIB = 1024 * 1024;
/** Most resident memory that the process may have, MiB. */
const MAX_RSS_MIB = 1024;
/** How much more memory may be held in the end than in the middle of a run, MiB. What fills up, as caches do, has slowed down by then. */
const MAX_GROWTH_MIB = 24;
/** How often memory is measured in a run. */
const LEVELS = 10;
/** How often an input that held the loop too long is tried again: the least counts, since collecting garbage is no habit. */
const RETRIES = 3;

export interface FuzzOptions {
  inputs: number;
  seed: number;
  /** How long one finding may be made smaller, ms. @default {20_000} */
  shrinkMs?: number;
  /** Findings after which it stops. @default {8} */
  maxFindings?: number;
  /** Epoch ms after which it stops. @default never */
  until?: number;
  onFinding?: (finding: Finding) => void;
  onProgress?: (done: number) => void;
}

export interface Finding {
  kind: string;
  /** The smallest input found that has the fault. */
  input: unknown;
  fault: Fault;
  /** Finds it again, with as many inputs as were asked for. */
  seed: number;
}

export interface FuzzReport {
  kind: string;
  inputs: number;
  findings: Finding[];
  /** Inputs that failed like one of the findings. */
  repeated: number;
  outcomes: Record<string, number>;
  /** Outcomes that should have been seen. */
  missing: string[];
  /** Longest that an input without fault held the loop, ms of processor time. */
  maxBlockMs: number;
  /** Memory held after a tenth of the inputs, and in the end, MiB. */
  level: { first: number; last: number } | undefined;
  seconds: number;
}

/** Takes one input, and says what is wrong with it. */
export async function judge(
  target: TargetProcess,
  kind: FuzzKind<unknown>,
  input: unknown,
  hangMs = HANG_MS,
): Promise<{ fault?: Fault; outcome?: string; blockMs?: number }> {
  let least = Infinity;
  for (let attempt = 0; attempt <= RETRIES; attempt++) {
    const taken = await target.run(input, hangMs);
    if ("fault" in taken) return taken;
    const { outcome, error, blockMs, rss } = taken.observation;
    if (error !== undefined) return { fault: { type: "error", text: error } };
    if (rss > MAX_RSS_MIB * MIB) {
      // Freed or not, the next inputs are to be judged by themselves.
      target.stop();
      const text = `the process has ${Math.round(rss / MIB)} MiB`;
      return { fault: { type: "memory", text } };
    }
    least = Math.min(least, blockMs);
    if (least <= kind.maxBlockMs) return { outcome, blockMs: least };
  }
  return { fault: { type: "blocked", text: `the loop was held for ${Math.round(least)} ms` } };
}

/** Runs a kind. */
export async function fuzz(name: string, options: FuzzOptions): Promise<FuzzReport> {
  const kind = await loadKind(name);
  const target = new TargetProcess(name);
  const started = performance.now();
  const run = new Run(name, kind, target, options);
  try {
    await run.all();
    return { ...run.report(), seconds: (performance.now() - started) / 1_000 };
  } finally {
    target.stop();
  }
}

class Run {
  readonly #name: string;
  readonly #kind: FuzzKind<unknown>;
  readonly #target: TargetProcess;
  readonly #options: FuzzOptions;
  readonly #findings: Finding[] = [];
  readonly #outcomes = new Map<string, number>();
  #done = 0;
  #repeated = 0;
  #maxBlockMs = 0;
  #levels: number[] = [];
  #nextLevel: number;

  constructor(name: string, kind: FuzzKind<unknown>, target: TargetProcess, options: FuzzOptions) {
    this.#name = name;
    this.#kind = kind;
    this.#target = target;
    this.#options = options;
    this.#nextLevel = options.inputs / LEVELS;
  }

  async all(): Promise<void> {
    const { inputs, seed, maxFindings = 8 } = this.#options;
    for (let part = 0; this.#goesOn() && this.#findings.length < maxFindings; part++) {
      // Each finding ends a part; the next one goes on with a seed that follows from the first.
      await this.#part((seed + part * 7_919) | 0, inputs - this.#done);
    }
    this.#checkGrowth();
  }

  report(): Omit<FuzzReport, "seconds"> {
    const [first] = this.#levels;
    const last = this.#levels.at(-1);
    return {
      kind: this.#name,
      inputs: this.#done,
      findings: this.#findings,
      repeated: this.#repeated,
      outcomes: Object.fromEntries([...this.#outcomes].sort()),
      missing: this.#kind.outcomes.filter((outcome) => !this.#outcomes.has(outcome)),
      maxBlockMs: this.#maxBlockMs,
      level: first === undefined || last === undefined ? undefined : { first, last },
    };
  }

  #goesOn(): boolean {
    return this.#done < this.#options.inputs && Date.now() < (this.#options.until ?? Infinity);
  }

  /** Tries inputs until one is a new finding, which it makes smaller. */
  async #part(seed: number, most: number): Promise<void> {
    let found: { input: unknown; fault: Fault } | undefined;
    let shrinksUntil = Infinity;
    const property = fc.asyncProperty(this.#kind.inputs, async (input) => {
      if (found === undefined ? !this.#goesOn() : performance.now() > shrinksUntil) return true;
      if (found === undefined) await this.#measure();
      // Smaller forms of what hangs are not waited for as long.
      const hangMs = found?.fault.type === "hang" ? HANG_MS / 3 : HANG_MS;
      const { fault, outcome, blockMs } = await judge(this.#target, this.#kind, input, hangMs);
      if (found === undefined) this.#count(input, outcome, blockMs);
      if (fault === undefined) return true;
      if (found === undefined) {
        if (this.#isKnown(input, fault)) {
          this.#repeated++;
          return true;
        }
        shrinksUntil = performance.now() + (this.#options.shrinkMs ?? 20_000);
      } else if (fault.type !== found.fault.type) return true;
      found = { input, fault };
      return false;
    });
    await fc.check(property, { seed, numRuns: most });
    if (found === undefined) return;
    const finding: Finding = {
      kind: this.#name,
      ...found as { input: unknown; fault: Fault },
      seed,
    };
    this.#findings.push(finding);
    this.#options.onFinding?.(finding);
  }

  #count(input: unknown, outcome: string | undefined, blockMs = 0): void {
    this.#done += this.#kind.sizeOf?.(input) ?? 1;
    // Where one value stands for several inputs, their outcomes come together.
    for (const one of outcome?.split(" ") ?? []) {
      this.#outcomes.set(one, (this.#outcomes.get(one) ?? 0) + 1);
    }
    this.#maxBlockMs = Math.max(this.#maxBlockMs, blockMs);
    this.#options.onProgress?.(this.#done);
  }

  /** Whether it fails as something that was found, and holds all words of it. */
  #isKnown(input: unknown, fault: Fault): boolean {
    const words = wordsOf(input);
    return this.#findings.some((finding) =>
      finding.fault.type === fault.type &&
      (fault.type !== "error" || placeOf(finding.fault.text) === placeOf(fault.text)) &&
      (fault.type === "error" || [...wordsOf(finding.input)].every((word) => words.has(word)))
    );
  }

  async #measure(): Promise<void> {
    if (!this.#target.isRunning) {
      // Nothing to compare with what another process held.
      this.#levels = [];
      return;
    }
    if (this.#done < this.#nextLevel) return;
    this.#nextLevel += this.#options.inputs / LEVELS;
    const level = await this.#target.level();
    if (level !== undefined) this.#levels.push(level);
  }

  #checkGrowth(): void {
    const middle = this.#levels[this.#levels.length >> 1];
    const last = this.#levels.at(-1);
    if (middle === undefined || last === undefined || last - middle <= MAX_GROWTH_MIB) return;
    const sizes = `from ${Math.round(middle)} to ${Math.round(last)} MiB`;
    const text = `memory grew ${sizes} in the second half of the run`;
    const fault: Fault = { type: "memory", text };
    const finding = { kind: this.#name, input: null, fault, seed: this.#options.seed };
    this.#findings.push(finding);
    this.#options.onFinding?.(finding);
  }
}

/** The words of an input: names of functions, members and the like. */
function wordsOf(input: unknown): Set<string> {
  return new Set(JSON.stringify(input).match(/[A-Za-z_]{3,}/g));
}

/** Where an error comes from: the first line of our own in its trace, or its text without what varies. */
function placeOf(text: string): string {
  const own = /\/(src\/[\w/.]+:\d+)/.exec(text)?.[1];
  return own ?? (text.split("\n")[0] ?? "").replaceAll(/"[^"]*"|'[^']*'|\d+/g, "…");
}
