/** A chaos scenario: a fault of the catalogue, applied to real servers, with a verdict from a ledger. */

export interface Scenario {
  /** Its number in the catalogue and a name: `F5-redis-killed`. */
  name: string;
  /** One line: the fault, and what must hold. */
  about: string;
  /** How long the fault lasts in the full form, seconds. */
  seconds: number;
  /** How long it lasts in CI, seconds. Absent: too slow or too demanding for CI. */
  short?: number;
  /** False: it only counts what was lost or doubled, however slow the machine is. @default {true} */
  isTimed?: false;
  run(run: ChaosRun): Promise<Outcome>;
}

/** One run of a scenario. */
export interface ChaosRun {
  /** How long to keep the fault up. */
  seconds: number;
  /** True in CI: smaller loads. */
  isShort: boolean;
  /** Random numbers in [0, 1) that follow from the seed. */
  random(): number;
  /** Runs at the end, last one first, whatever happened. */
  onEnd(clean: () => unknown): void;
  /** Reports progress. */
  say(text: string): void;
}

export interface Outcome {
  /** Broken promises: empty if all held. */
  violations: string[];
  /** Operations that succeeded, and their required minimum: a run that did nothing proves nothing. */
  alive: { done: number; wanted: number };
  /** Observations, for readers. */
  figures: Record<string, number | string>;
}

/** How long what an interrupted scenario still starts is waited for. */
const LAST_STARTS_MS = 5_000;

/**
 * Runs a scenario and cleans up.
 * @param interrupted rejects when the run must end early
 */
export async function runScenario(
  scenario: Scenario,
  options: Pick<ChaosRun, "seconds" | "isShort" | "random" | "say">,
  interrupted: Promise<never> = new Promise(() => {}),
): Promise<Outcome> {
  const cleaning: (() => unknown)[] = [];
  const running = scenario.run({ ...options, onEnd: (clean) => cleaning.push(clean) });
  try {
    const outcome = await Promise.race([running, interrupted]);
    const { done, wanted } = outcome.alive;
    if (done < wanted) {
      outcome.violations.push(`proves too little: ${done} operations succeeded, wanted ${wanted}`);
    }
    return outcome;
  } finally {
    await cleanAll(cleaning);
    // One that was interrupted goes on until it misses its servers, and may start others meanwhile.
    await Promise.race([running.catch(() => {}), wait(LAST_STARTS_MS)]);
    await cleanAll(cleaning);
  }
}

async function cleanAll(cleaning: (() => unknown)[]): Promise<void> {
  for (let clean = cleaning.pop(); clean !== undefined; clean = cleaning.pop()) await clean();
}

export const wait = (ms: number): Promise<void> => new Promise((done) => setTimeout(done, ms));
