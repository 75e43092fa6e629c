/** What is not well with a deployment, and what to do about it. */
import type { Operations } from "../../../client/operations.ts";
import { TEXTS } from "../texts.ts";

export type System = Operations["SystemService_GetSystem"]["answer"];
export type Replica = NonNullable<System["replicas"]>[number];

/** What a replica says of itself; an older program may say less. */
export interface About {
  version?: string;
  runtime?: string;
  host?: string;
  startedAt?: string;
  executor?: string;
  process?: number;
  memoryBytes?: number;
  heapBytes?: number;
  heapLimitBytes?: number;
  writesRefused?: string;
}

export function aboutOf({ about }: Replica): About {
  return (about ?? {}) as About;
}

export interface Finding {
  /** `trouble`: something is not well. `note`: it works, and there is something to know. */
  kind: "trouble" | "note";
  what: string;
  todo: string;
}

/** A replica that needs longer to answer has a busy event loop, ms. */
const SLOW_MS = 500;
const FULL = 0.8;
const HEAP_FULL = 0.9;
/** Members of each list that are named. */
const MOST_NAMED = 3;

/** All findings, troubles first. */
export function findingsOf(system: System): Finding[] {
  const troubles = [
    ...storeTroubles(system),
    ...replicaTroubles(system),
    ...queueTroubles(system),
  ];
  return [
    ...troubles.map((words): Finding => ({ kind: "trouble", ...words })),
    ...notes(system).map((words): Finding => ({ kind: "note", ...words })),
  ];
}

interface Words {
  what: string;
  todo: string;
}

const { troubles: texts } = TEXTS.system;

function storeTroubles({ store, replicas = [] }: System): Words[] {
  const found: Words[] = [];
  if (store?.trouble !== undefined) {
    found.push({ what: texts.storeGone.what(store.trouble), todo: texts.storeGone.todo });
  }
  const refused = replicas.map((one) => aboutOf(one).writesRefused)
    .find((reason) => reason !== undefined);
  if (refused !== undefined) {
    found.push({ what: texts.writesRefused.what(refused), todo: texts.writesRefused.todo });
  }
  const { asked = "", promised = "" } = store?.durability ?? {};
  if (isLess(promised, asked) && store?.kind !== "memory") {
    found.push({ what: texts.durability.what(asked, promised), todo: texts.durability.todo });
  }
  return found;
}

const STRENGTH = ["none", "everysec", "always"];

function isLess(promised: string, asked: string): boolean {
  const at = STRENGTH.indexOf(promised);
  return at >= 0 && at < STRENGTH.indexOf(asked);
}

function replicaTroubles({ replicas = [], shards = 0 }: System): Words[] {
  const found: Words[] = [];
  const answered = replicas.filter(({ answeredAfterMs }) => answeredAfterMs !== undefined);
  const silent = replicas.filter((one) => !answered.includes(one)).map(({ name = "" }) => name);
  if (silent.length > 0) {
    found.push({ what: texts.silent.what(listed(silent)), todo: texts.silent.todo });
  }
  for (const { name = "", answeredAfterMs = 0 } of answered.slice(0, MOST_NAMED)) {
    if (answeredAfterMs > SLOW_MS) {
      found.push({ what: texts.slow.what(name, answeredAfterMs), todo: texts.slow.todo });
    }
  }
  const owned = new Set(answered.flatMap((one) => one.shards ?? []));
  // Those of a silent replica may well be run by it.
  if (owned.size === 0 && silent.length === 0) found.push(texts.noReplicas);
  else if (owned.size < shards && silent.length === 0) {
    found.push({ what: texts.unowned.what(shards - owned.size), todo: texts.unowned.todo });
  }
  const versions = [...new Set(answered.flatMap((one) => aboutOf(one).version ?? []))].sort();
  if (versions.length > 1) {
    found.push({ what: texts.versions.what(listed(versions)), todo: texts.versions.todo });
  }
  for (const replica of answered) {
    const { heapBytes = 0, heapLimitBytes = 0 } = aboutOf(replica);
    const share = heapLimitBytes === 0 ? 0 : heapBytes / heapLimitBytes;
    if (share > HEAP_FULL) {
      const percent = Math.round(share * 100);
      found.push({ what: texts.memory.what(replica.name ?? "", percent), todo: texts.memory.todo });
    }
  }
  return found;
}

function queueTroubles({ events }: System): Words[] {
  const share = fillOf(events);
  return share !== undefined && share >= FULL
    ? [{ what: texts.queueFull.what(Math.round(share * 100)), todo: texts.queueFull.todo }]
    : [];
}

/** How full the queue of events is, from 0 to 1 and beyond; undefined when the store does not tell. */
export function fillOf(events: System["events"]): number | undefined {
  const { queued, capacity = 0 } = events ?? {};
  return queued === undefined || capacity === 0 ? undefined : queued / capacity;
}

function notes({ store, replicas = [] }: System): Words[] {
  const found: Words[] = [];
  if (store?.kind === "memory") found.push(texts.volatile);
  const executors = replicas.flatMap((one) => aboutOf(one).executor ?? []);
  if (executors.length > 0 && executors.every((one) => one === "none")) {
    found.push(texts.noExecutor);
  }
  if (replicas.length === 1 && store?.kind === "redis") found.push(texts.single);
  return found;
}

function listed(names: readonly string[]): string {
  const rest = names.length - MOST_NAMED;
  const shown = names.slice(0, MOST_NAMED).join(", ");
  return rest > 0 ? `${shown} ${TEXTS.locks.rest(rest)}` : shown;
}

/** Numbers with those in a row as one: `0–3, 7`. */
export function rangesText(numbers: readonly number[]): string {
  const ranges: [number, number][] = [];
  for (const number of [...numbers].sort((a, b) => a - b)) {
    const last = ranges.at(-1);
    if (last !== undefined && last[1] === number - 1) last[1] = number;
    else ranges.push([number, number]);
  }
  return ranges.map(([from, to]) => from === to ? `${from}` : `${from}–${to}`).join(", ");
}

const UNITS = ["B", "KiB", "MiB", "GiB", "TiB"];

/** A number of bytes in words. */
export function bytesText(bytes: number): string {
  const power = bytes < 1 ? 0 : Math.min(UNITS.length - 1, Math.floor(Math.log2(bytes) / 10));
  const value = bytes / 1024 ** power;
  return `${value < 10 && power > 0 ? value.toFixed(1) : Math.round(value)} ${UNITS[power]}`;
}
