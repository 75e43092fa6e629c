/** The network between a simulated process and the store: slow, lossy, and cut off when the world says so. */
import { Problem, ProblemCode } from "../../src/base/problem.ts";
import type { Json } from "../../src/base/json.ts";
import type { Change, Store } from "../../src/store/port.ts";
import type { Coverage } from "./coverage.ts";
import type { SimClock, SimProcess } from "./sim_clock.ts";

/** How bad the network is now; the same for all processes of a world. */
export interface Weather {
  /** Share of calls whose request or answer is lost. */
  loss: number;
  /** Share of messages that take time. */
  delay: number;
}

export interface NetworkDeps {
  clock: SimClock;
  random: () => number;
  weather: Weather;
  coverage: Coverage;
}

/** Longest delay of an ordinary message, and of a rare slow one, ms. */
const WAY_MS = 60;
const LONG_WAY_MS = 4_000;
/** Longest time until a process notices that it gets no answer, ms. */
const NOTICE_MS = 800;

type Call = <T>(run: () => Promise<T>, occurrence?: "reply") => Promise<T>;

/** Ways of messages between a process and a backend. */
interface Ways {
  chance(share: number): boolean;
  travel(arrive: (wasSlow: boolean) => void): void;
  call: Call;
}

function waysOf(process: SimProcess, deps: NetworkDeps): Ways {
  const { clock, random, weather, coverage } = deps;
  const chance = (share: number) => share > 0 && random() < share;

  /** A message is on its way; `true` means that it took time. */
  function travel(arrive: (wasSlow: boolean) => void): void {
    if (!chance(weather.delay)) return arrive(false);
    coverage.add("store: delayed");
    const longest = random() < 0.05 ? LONG_WAY_MS : WAY_MS;
    clock.after(random() * longest, () => arrive(true));
  }

  const call: Call = (run, occurrence) =>
    new Promise((resolve, reject) => {
      const lose = () => {
        const text = "The store does not answer (fault of a test)";
        const failure = new Problem(ProblemCode.Unavailable, text, {
          retryAfterSeconds: 1,
          mayBeDone: true,
        });
        const fail = () => reject(failure);
        clock.after(random() * NOTICE_MS, () => process.enter(fail));
      };
      const isLost = (way: "requests" | "answers") =>
        !process.isStarting && (process.cut === way || chance(weather.loss / 2));
      if (isLost("requests")) {
        coverage.add("store: request lost");
        if (occurrence === "reply") coverage.add("store: reply to a caller lost");
        return lose();
      }
      travel((wasSlow) => {
        if (wasSlow && process.isCrashed) {
          if (chance(0.5)) return;
          coverage.add("store: request arrived after the crash");
        }
        run().then((value) => {
          if (isLost("answers")) {
            coverage.add("store: answer lost after it was done");
            return lose();
          }
          travel(() => process.enter(() => resolve(value)));
        }, (cause: unknown) => travel(() => process.enter(() => reject(cause))));
      });
    });

  return { chance, travel, call };
}

/** All methods of a backend as a process sees them. */
export function reached<T extends object>(backend: T, process: SimProcess, deps: NetworkDeps): T {
  return overNetwork(backend, waysOf(process, deps).call);
}

/** The store as a process sees it. */
export function networked(store: Store, process: SimProcess, deps: NetworkDeps): Store {
  const { weather, coverage } = deps;
  const { chance, travel, call } = waysOf(process, deps);
  const while_ = (signal: AbortSignal) => AbortSignal.any([signal, process.gone.signal]);
  const { membership, shards, query, manifests, events, blobs } = store;
  return {
    ...store,
    membership: overNetwork(membership, call),
    shards: {
      ...overNetwork(shards, call),
      readMailboxes: (after, max, waitMs, signal) =>
        call(() => shards.readMailboxes(after, max, waitMs, while_(signal))),
      reply: (replica, answers) => call(() => shards.reply(replica, answers), "reply"),
      onReply(replica, hear, signal) {
        const onHear = (request: string, answer: Json) => {
          if (process.cut !== "nothing" || chance(weather.loss / 2)) {
            return coverage.add("store: reply to a caller lost");
          }
          travel(() => process.enter(() => signal.aborted || hear(request, answer)));
        };
        return call(() => shards.onReply(replica, onHear, while_(signal)));
      },
    },
    query: {
      ...overNetwork(query, call),
      watch: (after, signal) => entering(query.watch(after, while_(signal)), process, travel),
    },
    manifests: overNetwork(manifests, call),
    events: {
      ...overNetwork(events, call),
      take: (worker, max, claimAfterMs, waitMs, signal) =>
        call(() => events.take(worker, max, claimAfterMs, waitMs, while_(signal))),
    },
    blobs: overNetwork(blobs, call),
  };
}

/** All methods of a part of the store, over the network. */
function overNetwork<T extends object>(part: T, call: Call): T {
  const wrapped = Object.entries(part).map(([name, method]) => [
    name,
    (...args: unknown[]) =>
      call(() => (method as (...args: unknown[]) => Promise<unknown>)(...args)),
  ]);
  return Object.fromEntries(wrapped) as T;
}

async function* entering(
  feed: AsyncIterable<Change[]>,
  process: SimProcess,
  travel: (arrive: () => void) => void,
): AsyncGenerator<Change[]> {
  const arrived = () =>
    new Promise<void>((resolve) => travel(() => process.enter(() => resolve())));
  for await (const changes of feed) {
    await arrived();
    yield changes;
  }
  await arrived();
}
