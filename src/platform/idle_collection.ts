/**
 * Gives memory back after a busy time. What leaves the caches once the work is over stays as garbage: the engine collects when
 * something is allocated, and then hardly anything is. So a process that has come to rest collects its garbage once.
 */
import process from "node:process";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import type { Clock } from "./clock.ts";

/** How often it looks, ms. */
const LOOK_MS = 10_000;
/** At rest: less than this share of one core since the last look. */
const REST_SHARE = 0.05;
/** Looks in a row at which the process was at rest. By then the caches have let go of what rests. */
const RESTED = 4;
/** The heap has grown by so many bytes since the last collection: more than the young generation, which empties by itself. */
const MIN_GROWTH = 24 << 20;
/** A larger heap would take too long: then a request may come meanwhile. */
const MAX_HEAP = 256 << 20;

export interface IdleCollectionDeps {
  clock: Pick<Clock, "monotonic" | "after">;
  /** Processor time of this process so far, ms. */
  cpuMs(): number;
  /** Bytes of the heap in use. @default those of this process */
  heapUsed?(): number;
  /** Collects all garbage. @default that of the engine */
  collect?(): void;
}

/** Collects after busy times until the signal aborts. */
export function collectWhenIdle(deps: IdleCollectionDeps, signal: AbortSignal): void {
  const { clock, cpuMs, heapUsed = () => process.memoryUsage().heapUsed } = deps;
  const { collect = collectorOf() } = deps;
  let [cpu, at, rested, lowest] = [cpuMs(), clock.monotonic(), 0, heapUsed()];
  let cancel = () => {};
  const look = () => {
    const [cpuNow, now, heap] = [cpuMs(), clock.monotonic(), heapUsed()];
    rested = cpuNow - cpu < REST_SHARE * (now - at) ? rested + 1 : 0;
    [cpu, at] = [cpuNow, now];
    lowest = Math.min(lowest, heap);
    if (rested >= RESTED && heap - lowest > MIN_GROWTH && heap < MAX_HEAP) {
      collect();
      lowest = heapUsed();
    }
    cancel = clock.after(LOOK_MS, look, true);
  };
  cancel = clock.after(LOOK_MS, look, true);
  signal.addEventListener("abort", () => cancel(), { once: true });
}

/** The engine's own function, which it shows only where it is asked for. One that does nothing where it may not be asked. */
function collectorOf(): () => void {
  let collector: (() => void) | undefined;
  return () => {
    collector ??= exposed();
    collector();
  };
}

function exposed(): () => void {
  try {
    setFlagsFromString("--expose-gc");
    const collector = runInNewContext("gc") as () => void;
    setFlagsFromString("--no-expose-gc");
    return collector;
  } catch {
    return () => {};
  }
}
