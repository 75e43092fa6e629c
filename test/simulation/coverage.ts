/** What occurred in simulated runs, and how often each event must occur for a run of many seeds to count. */

/** Name of an occurrence → minimum per 1,000 seeds. */
const LEAST_PER_1000_SEEDS = {
  "replica: started": 3_000,
  "replica: crashed": 1_000,
  "replica: last one crashed": 50,
  "replica: heard that another one crashed": 500,
  "replica: drained": 200,
  "replica: paused beyond the lease": 200,
  "replica: cut off beyond the lease": 200,
  "replica: clock jumped": 500,
  "store: request lost": 1_000,
  "store: answer lost after it was done": 1_000,
  "store: delayed": 5_000,
  "store: request arrived after the crash": 20,
  "store: reply to a caller lost": 100,
  "shard: taken over": 1_000,
  "shard: handed over": 1_000,
  "shard: late write refused": 80,
  "mailbox: command through another replica": 2_000,
  "mailbox: read again after a take-over": 50,
  "command: repeated with its key": 1_000,
  "command: repeat got the stored answer": 300,
  "command: outcome unknown": 500,
  "create: applied": 2_000,
  "suspend: applied": 150,
  "resume: applied": 500,
  "stop: applied": 120,
  "terminate: applied": 80,
  "retry: applied": 40,
  "set: applied": 40,
  "delete: applied": 150,
  "command: refused": 500,
  "task: started": 5_000,
  "task: adopted": 200,
  "task: reported twice": 300,
  "task: cancelled": 100,
  "timer: fired": 1_000,
  "lock: waited for": 100,
  "workflow: removed by its time to live": 100,
  "event: accepted": 2_000,
  "event: queue full": 50,
  "event: known by its key": 100,
  "event: several bindings": 500,
  "event: claimed from a silent worker": 50,
  "event: brought back": 50,
  "event: dead letter": 100,
  "event: callback resumed a step": 100,
  "event: callback waited": 50,
  "callback URL: accepted": 300,
  "callback URL: kept until its step waits": 40,
  "callback URL: told what happened": 100,
  "callback URL: same use again": 100,
  "cron: made": 400,
  "cron: made late": 25,
  "cron: removed from its history": 300,
  "workflow: tree compared": 1_000,
  "history: checked against the model": 800,
} as const;

/** Something that can occur in a simulated run. */
export type Occurrence = keyof typeof LEAST_PER_1000_SEEDS;

/** Counts of occurrences. */
export class Coverage {
  readonly counts = new Map<Occurrence, number>();

  add(occurrence: Occurrence, by = 1): void {
    this.counts.set(occurrence, (this.counts.get(occurrence) ?? 0) + by);
  }
}

/** The table of occurrences in a number of seeds. */
export function coverageTable(counts: ReadonlyMap<string, number>, seeds: number): string {
  const names = Object.keys(LEAST_PER_1000_SEEDS) as Occurrence[];
  const width = Math.max(...names.map((name) => name.length));
  return names.map((name) => {
    const count = counts.get(name) ?? 0;
    return `${name.padEnd(width)} ${String(count).padStart(9)} (at least ${leastOf(name, seeds)})`;
  }).join("\n");
}

/** What occurred too rarely. */
export function missingFrom(counts: ReadonlyMap<string, number>, seeds: number): string[] {
  const names = Object.keys(LEAST_PER_1000_SEEDS) as Occurrence[];
  return names.filter((name) => (counts.get(name) ?? 0) < leastOf(name, seeds))
    .map((name) => `${name}: ${counts.get(name) ?? 0} of ${leastOf(name, seeds)}`);
}

function leastOf(name: Occurrence, seeds: number): number {
  return Math.floor(LEAST_PER_1000_SEEDS[name] * seeds / 1_000);
}
