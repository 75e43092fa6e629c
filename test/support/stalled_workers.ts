// deno-lint-ignore-file no-console -- its words belong into the run's output
/**
 * A reporter for vitest that ends a run in which nothing happens any more. A test that blocks its process (an endless loop, a
 * synchronous call of a program that waits) can't be ended by vitest's own time limits, and the run would never say which one
 * it was. Here the processes of such tests are named and killed: their files fail, and all others are reported.
 */
import { readdirSync, readFileSync } from "node:fs";
import process from "node:process";
import type { Reporter, TestModule } from "vitest/node";

/** No hook or test takes longer, those that compute for minutes included. */
const LIMIT_MS = 15 * 60_000;
const LOOK_EVERY_MS = 15_000;

interface RunningProcess {
  pid: number;
  parent: number;
  command: string;
}

export default class StalledWorkers implements Reporter {
  readonly #running = new Set<string>();
  readonly #limitMs: number;
  #seenAt = 0;
  #look: ReturnType<typeof setInterval> | undefined;

  constructor({ limitMs = LIMIT_MS }: { limitMs?: number } = {}) {
    this.#limitMs = limitMs;
  }

  onTestRunStart(): void {
    this.#seen();
    this.#look = setInterval(() => this.#lookAtOnce(), Math.min(LOOK_EVERY_MS, this.#limitMs));
  }

  onTestRunEnd(): void {
    clearInterval(this.#look);
  }

  onTestModuleQueued({ relativeModuleId }: TestModule): void {
    this.#running.add(relativeModuleId);
    this.#seen();
  }

  onTestModuleEnd({ relativeModuleId }: TestModule): void {
    this.#running.delete(relativeModuleId);
    this.#seen();
  }

  onTestCaseReady(): void {
    this.#seen();
  }

  onTestCaseResult(): void {
    this.#seen();
  }

  #seen(): void {
    this.#seenAt = performance.now();
  }

  #lookAtOnce(): void {
    if (performance.now() - this.#seenAt < this.#limitMs) return;
    const minutes = Math.round(this.#limitMs / 60_000);
    console.error(`STALLED for ${minutes} minutes: ${[...this.#running].join(", ")}; killed:`);
    for (const { pid, command } of descendants(processes(), process.pid)) {
      console.error(`  ${pid} ${command}`);
      try {
        process.kill(pid, "SIGKILL");
      } catch {
        // It has ended meanwhile.
      }
    }
    this.#running.clear();
    this.#seen();
  }
}

/** All processes below one, the lowest first, except what vitest itself has to watch over its workers. */
function descendants(all: readonly RunningProcess[], of: number): RunningProcess[] {
  return all
    .filter(({ parent, command }) => parent === of && command !== "vitest-watchdog")
    .flatMap((child) => [...descendants(all, child.pid), child]);
}

/** The processes of this machine; none where `/proc` does not tell. */
function processes(): RunningProcess[] {
  return pids().flatMap((pid) => {
    try {
      // "PID (NAME) STATE PARENT …", and a name may contain anything.
      const stat = readFileSync(`/proc/${pid}/stat`, "utf8");
      const [, parent] = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
      const command = readFileSync(`/proc/${pid}/cmdline`, "utf8").split("\0").join(" ").trim();
      return [{ pid, parent: Number(parent), command }];
    } catch {
      return [];
    }
  });
}

function pids(): number[] {
  try {
    return readdirSync("/proc").map(Number).filter(Number.isInteger);
  } catch {
    return [];
  }
}
