/**
 * Many watchers of one real server on a real Redis while workflows change at a given rate. The store itself says what
 * happened, and each watcher's observations are compared with that. Some are slow: they stop reading, and resume once
 * they have certainly been cut off.
 */
import { openRedisStore } from "../../src/store/redis/store.ts";
import { startRedisServer } from "./redis_server.ts";
import { heapAfterCollection, residentMib, WITH_HEAP_PROBE } from "./server_memory.ts";
import { startServer } from "./server_process.ts";
import { quantile } from "./quantile.ts";
import { until } from "./until.ts";
import { processorMs } from "./used_processor.ts";
import { WatchClient } from "./watch_clients.ts";

export interface WatchRunOptions {
  /** Watchers in total: some of everything, the others ten to a namespace. */
  watchers: number;
  /** How many of them stop reading. They watch everything. */
  slow: number;
  /** Workflows changed per second: made, or resumed. */
  rate: number;
  seconds: number;
  /** When the slow ones resume, in seconds from the beginning. */
  slowUntil: number;
  /** Length of an annotation on each workflow, in characters. */
  note: number;
}

export interface WatchRunReport {
  /** Workflows changed, and the resulting changes. */
  changed: number;
  changes: number;
  seconds: number;
  /** Changes that all watchers together had to see, and did see. */
  expected: number;
  seen: number;
  /** Watchers that did not see exactly what happened, in order. */
  wrong: string[];
  /** Errors of watchers that read as fast as they could. */
  cutsOfFast: string[];
  /** The errors of each slow watcher. */
  cutsOfSlow: string[][];
  /**
   * Milliseconds from the commit to the watcher, for watchers that never pause: overall, and while the slow ones did
   * not read.
   */
  delivery: Delivery;
  deliveryMeanwhile: Delivery;
  /** Milliseconds until the last of the slow ones had caught up: until what it got was at most half a second old. */
  caughtUp: number;
  /** Resident memory of the server over time, MiB. */
  resident: number[];
  /**
   * Heap of the server after a collection, with all watchers connected: before the first change and after the last,
   * MiB.
   */
  heap: [before: number, after: number];
  /** Processor time of the server for each second of the run, ms. */
  busy: number;
}

export interface Delivery {
  p50: number;
  p99: number;
  max: number;
}

const OF_EVERYTHING = 2;
const PER_NAMESPACE = 10;
const MAX_OPEN = 128;
const TIMEOUT_MS = 120_000;
const SAMPLE_MS = 5_000;
const CAUGHT_UP_MS = 500;

/** Runs everything and returns the observations. */
export async function runWatchers(options: WatchRunOptions): Promise<WatchRunReport> {
  const { watchers, slow, rate, seconds } = options;
  const redis = await startRedisServer();
  const store = await openRedisStore({ url: redis.url });
  const server = await startServer([`--store=${redis.url}`, "--log-level=info"], WITH_HEAP_PROBE);
  const stop = new AbortController();
  try {
    const namespaces = Math.max(1, Math.ceil((watchers - slow - OF_EVERYTHING) / PER_NAMESPACE));
    const after = await store.query.version();
    const truth = followTruth(store.query.watch(after, stop.signal));
    const clients = Array.from({ length: watchers }, (_, i) =>
      new WatchClient({
        url: server.url,
        namespace: i < slow + OF_EVERYTHING ? "" : `ns-${i % namespaces}`,
        after,
        framing: i % 2 === 0 ? "ndjson" : "sse",
      }));
    for (let from = 0; from < clients.length; from += 50) {
      await Promise.all(clients.slice(from, from + 50).map((client) => client.open()));
    }
    const [slowOnes, fast] = [clients.slice(0, slow), clients.slice(slow)];
    for (const client of slowOnes) client.pause();
    const heapMib = async () => await heapAfterCollection(server) / 2 ** 20;
    const heapBefore = await heapMib();
    const resident = [residentMib(server)];
    const sampling = setInterval(() => resident.push(residentMib(server)), SAMPLE_MS);
    const [startedAt, busyBefore] = [performance.now(), processorMs(server.pid)];
    let wokeAt = 0;
    const waking = setTimeout(() => {
      wokeAt = performance.now();
      for (const client of slowOnes) client.goOn();
    }, options.slowUntil * 1_000);
    const changed = await load(server.url, { namespaces, rate, seconds, note: options.note });
    const took = (performance.now() - startedAt) / 1_000;
    const busy = (processorMs(server.pid) - busyBefore) / took;
    await inTime(() => wokeAt > 0, () => "the slow ones went on");
    await truth.settle(changed);
    const wanted = (client: WatchClient) => truth.of(client.namespace);
    const haveSeen = (some: WatchClient[]) => () =>
      some.every((client) => client.seen.length >= wanted(client).length);
    await inTime(haveSeen(fast), () => missing(fast, wanted));
    await inTime(haveSeen(slowOnes), () => missing(slowOnes, wanted));
    const wokeAtTime = Date.now() - (performance.now() - wokeAt);
    clearInterval(sampling);
    clearTimeout(waking);
    resident.push(residentMib(server));
    const heapAfter = await heapMib();
    // Duplicates would come now.
    await new Promise((resolve) => setTimeout(resolve, 500));
    await Promise.all(clients.map((client) => client.close()));
    return {
      changed,
      changes: truth.of("").length,
      seconds: took,
      expected: clients.reduce((sum, client) => sum + wanted(client).length, 0),
      seen: clients.reduce((sum, client) => sum + client.seen.length, 0),
      wrong: clients.flatMap((client, i) => {
        const [is, should] = [client.seen, wanted(client)];
        const at = should.findIndex((version, index) => is[index] !== version);
        if (at === -1 && is.length === should.length) return [];
        return [
          `watcher ${i} of "${client.namespace}": ${is.length} of ${should.length}, at ${at}`,
        ];
      }),
      cutsOfFast: fast.flatMap(({ cuts }) => cuts),
      cutsOfSlow: slowOnes.map(({ cuts }) => cuts),
      delivery: deliveryOf(fast, Infinity),
      deliveryMeanwhile: deliveryOf(fast, wokeAtTime),
      caughtUp: Math.max(0, ...slowOnes.map((client) => caughtUpAt(client, wokeAtTime))) -
        wokeAtTime,
      resident,
      heap: [heapBefore, heapAfter],
      busy,
    };
  } finally {
    stop.abort();
    await server.stop();
    await store.close();
    await redis.stop();
  }
}

type Batches = AsyncIterable<{ id: string; version: string }[]>;

/** What really happened: versions by namespace. */
function followTruth(batches: Batches) {
  const versions = new Map<string, string[]>([["", []]]);
  const reading = (async () => {
    for await (const batch of batches) {
      for (const { id, version } of batch) {
        const [kind, namespace = ""] = id.split("/");
        if (kind !== "wf") continue;
        for (const key of ["", namespace]) {
          const all = versions.get(key) ?? [];
          versions.set(key, all);
          all.push(version);
        }
      }
    }
  })();
  reading.catch(() => {});
  const of = (namespace: string) => versions.get(namespace) ?? [];
  return {
    of,
    /** Waits until no more changes come. */
    async settle(atLeast: number): Promise<void> {
      let before = -1;
      while (of("").length < atLeast || of("").length !== before) {
        before = of("").length;
        await new Promise((resolve) => setTimeout(resolve, 500));
      }
    },
  };
}

/** Changes workflows at a steady rate, alternately making and resuming one. @returns how many were changed */
async function load(
  url: string,
  { namespaces, rate, seconds, note }: {
    namespaces: number;
    rate: number;
    seconds: number;
    note: number;
  },
): Promise<number> {
  const annotations = note > 0 ? { note: "x".repeat(note) } : {};
  const waiting: string[] = [];
  const open = new Set<Promise<void>>();
  let made = 0;
  let changed = 0;
  const ask = async (method: string, path: string, body: object) => {
    const response = await fetch(`${url}/api/v1/workflows/${path}`, {
      method,
      body: JSON.stringify(body),
    });
    if (!response.ok) throw new Error(`${method} ${path}: ${await response.text()}`);
    await response.body?.cancel();
    changed++;
  };
  const make = async () => {
    const [namespace, name] = [`ns-${made % namespaces}`, `w-${made++}`];
    await ask("POST", namespace, {
      workflow: {
        metadata: { name, annotations },
        spec: { entrypoint: "a", templates: [{ name: "a", suspend: {} }] },
      },
    });
    waiting.push(`${namespace}/${name}`);
  };
  const resume = (path: string) =>
    ask("PUT", `${path}/resume`, { nodeFieldSelector: "displayName=" + path.split("/")[1] });
  const startedAt = performance.now();
  let failure: unknown;
  for (let count = 0; count < rate * seconds; count++) {
    const wait = startedAt + count * 1_000 / rate - performance.now();
    if (wait > 1) await new Promise((resolve) => setTimeout(resolve, wait));
    while (open.size >= MAX_OPEN) await Promise.race(open);
    const path = count % 2 === 0 ? undefined : waiting.shift();
    const work: Promise<void> = (path === undefined ? make() : resume(path))
      .catch((error: unknown) => void (failure ??= error))
      .finally(() => open.delete(work));
    open.add(work);
    if (failure !== undefined) break;
  }
  await Promise.all(open);
  if (failure !== undefined) throw failure;
  return changed;
}

function missing(clients: WatchClient[], wanted: (client: WatchClient) => string[]): string {
  return clients.flatMap((client) => {
    const left = wanted(client).length - client.seen.length;
    return left > 0 ? [`${left} for "${client.namespace}" (${client.cuts.length} cuts)`] : [];
  }).slice(0, 20).join(", ");
}

function inTime(holds: () => boolean, what: () => string): Promise<void> {
  return until(holds, { patienceMs: TIMEOUT_MS, otherwise: () => `Not in time: ${what()}` });
}

/** Quantiles of what was seen until a time, epoch ms. */
function deliveryOf(clients: WatchClient[], until: number): Delivery {
  const all = clients.flatMap(({ seen, times }) =>
    seen.flatMap((version, index) => {
      const time = times[index] ?? 0;
      // A version of Redis is its time in microseconds.
      return time > until ? [] : [time - Number(version) / 1_000];
    })
  );
  return { p50: quantile(all, 0.5), p99: quantile(all, 0.99), max: quantile(all, 1) };
}

/** When a watcher that resumed at a time had caught up, epoch ms. */
function caughtUpAt({ seen, times }: WatchClient, from: number): number {
  return times.find((time, index) =>
    time >= from && time - Number(seen[index]) / 1_000 < CAUGHT_UP_MS
  ) ?? times.at(-1) ?? from;
}

/** The report for readers. */
export function watchRunText(report: WatchRunReport): string {
  const { resident, cutsOfSlow } = report;
  const round = (value: number) => Math.round(value * 10) / 10;
  const delivery = ({ p50, p99, max }: Delivery) =>
    `p50 ${round(p50)} ms, p99 ${round(p99)} ms, max ${round(max)} ms`;
  return [
    `${report.changed} workflows changed in ${round(report.seconds)} s ` +
    `(${Math.round(report.changed / report.seconds)}/s), ${report.changes} changes; ` +
    `server busy ${Math.round(report.busy / 10)} % of a core`,
    `seen ${report.seen} of ${report.expected}, ${report.wrong.length} watchers wrong`,
    `delivery ${delivery(report.delivery)}; while the slow ones did not read ` +
    delivery(report.deliveryMeanwhile),
    `slow ones cut ${cutsOfSlow.map(({ length }) => length).join(",")} times, ` +
    `caught up after ${
      Math.round(report.caughtUp)
    } ms; fast ones cut ${report.cutsOfFast.length} times`,
    `resident MiB: ${resident.map(Math.round).join(" ")}; heap ` +
    report.heap.map((mib) => `${round(mib)} MiB`).join(" before, ") + " after a collection",
  ].join("\n") + "\n";
}
