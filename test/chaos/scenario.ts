/** What a chaos scenario is: a fault of the catalogue, done to real servers, with a verdict from a ledger. */

export interface Scenario {
  /** Its place in the catalogue and a word: `F5-redis-killed`. */
  name: string;
  /** One line: the fault, and what must hold. */
  about: string;
  /** Length of the trouble in the full form, seconds. */
  seconds: number;
  /** Length in CI, seconds. Absent: too slow or too demanding for CI. */
  short?: number;
  run(run: ChaosRun): Promise<Outcome>;
}

/** One run of a scenario. */
export interface ChaosRun {
  /** How long to make trouble. */
  seconds: number;
  /** True in CI: smaller loads. */
  isShort: boolean;
  /** Random numbers in [0, 1) that follow from the seed. */
  random(): number;
  /** Is done at the end, last first, whatever happened. */
  onEnd(clean: () => unknown): void;
  /** Tells whoever watches what is going on. */
  say(text: string): void;
}

export interface Outcome {
  /** What must not be: empty when all promises held. */
  violations: string[];
  /** Operations that succeeded, and how many there must be at least: a run that did nothing proves nothing. */
  alive: { done: number; wanted: number };
  /** What was seen, for people. */
  figures: Record<string, number | string>;
}

/**
 * Runs a scenario and cleans up.
 * @param interrupted rejects when the run is to end early
 */
export async function runScenario(
  scenario: Scenario,
  options: Pick<ChaosRun, "seconds" | "isShort" | "random" | "say">,
  interrupted: Promise<never> = new Promise(() => {}),
): Promise<Outcome> {
  const cleaning: (() => unknown)[] = [];
  try {
    const running = scenario.run({ ...options, onEnd: (clean) => cleaning.push(clean) });
    const outcome = await Promise.race([running, interrupted]);
    const { done, wanted } = outcome.alive;
    if (done < wanted) {
      outcome.violations.push(`proves too little: ${done} operations succeeded, wanted ${wanted}`);
    }
    return outcome;
  } finally {
    for (const clean of cleaning.reverse()) await clean();
  }
}

export const wait = (ms: number): Promise<void> => new Promise((done) => setTimeout(done, ms));
