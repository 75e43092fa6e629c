/** Puts dead letters back into the queue: one, or one after the other all that a list shows. */
import { createStore } from "@xstate/store";
import { ClientError } from "../../../client/transport.ts";
import type { Delivery, DeliveryFilters } from "../model/deliveries.ts";
import { TEXTS } from "../texts.ts";
import { api, refusalOf, type Trouble, troubleOf } from "./api.ts";
import { readDeliveries } from "./deliveries.ts";
import { notify } from "./notices.ts";

type Ref = Pick<Delivery, "namespace" | "id">;

/** Most dead letters that one replay takes. */
const MOST = 10_000;
const AT_ONCE = 4;
/** The queue is full: try again after this time, ms. */
const FULL_MS = 1_000;
/** Refusals that are told one by one. */
const MOST_TOLD = 10;

async function replay({ namespace, id }: Ref): Promise<void> {
  await api.call("EventService_ReplayEventDelivery", { params: { namespace, id } });
}

/** Replays one, and says what became of it. */
export async function replayOne(ref: Ref): Promise<boolean> {
  try {
    await replay(ref);
    notify(TEXTS.events.replay.done(1));
    return true;
  } catch (error) {
    notify(TEXTS.events.replay.failed, { isError: true, details: [refusalOf(error)] });
    return false;
  }
}

interface ReplayState {
  phase: "idle" | "counting" | "asking" | "running";
  refs: readonly Ref[];
  /** Put back or refused so far. */
  done: number;
  refusals: readonly string[];
  /** The queue is full at this moment. */
  isFull: boolean;
  trouble: Trouble | undefined;
}

const IDLE: ReplayState = {
  phase: "idle",
  refs: [],
  done: 0,
  refusals: [],
  isFull: false,
  trouble: undefined,
};

function createReplayStore() {
  return createStore({
    context: IDLE,
    on: {
      reset: () => IDLE,
      counting: (): ReplayState => ({ ...IDLE, phase: "counting" }),
      asking: (_, { refs }: { refs: readonly Ref[] }): ReplayState => ({
        ...IDLE,
        phase: "asking",
        refs,
      }),
      failed: (_, { trouble }: { trouble: Trouble }): ReplayState => ({ ...IDLE, trouble }),
      begun: (context): ReplayState => ({ ...context, phase: "running" }),
      full: (context): ReplayState => ({ ...context, isFull: true }),
      one: (context, { refusal }: { refusal: string | undefined }): ReplayState => ({
        ...context,
        isFull: false,
        done: context.done + 1,
        refusals: refusal === undefined ? context.refusals : [...context.refusals, refusal],
      }),
    },
  });
}

/** A replay of many. */
export class Replay {
  readonly store: ReturnType<typeof createReplayStore> = createReplayStore();
  #stopping = new AbortController();

  /** Finds those that the filters select. What comes later is not replayed. */
  async count(filters: DeliveryFilters): Promise<void> {
    this.store.trigger.counting();
    const refs: Ref[] = [];
    let from: string | undefined = "";
    try {
      while (from !== undefined && refs.length < MOST) {
        const page: Awaited<ReturnType<typeof readDeliveries>> = await readDeliveries(
          { ...filters, state: "dead", from },
          { limit: 500 },
        );
        // Without its event, a dead letter cannot be replayed.
        refs.push(...page.items.filter(({ hasEvent }) => hasEvent === true));
        from = page.next;
      }
      this.store.trigger.asking({ refs: refs.slice(0, MOST) });
    } catch (error) {
      this.store.trigger.failed({ trouble: troubleOf(error) });
    }
  }

  cancel(): void {
    this.store.trigger.reset();
  }

  /** Takes no more; those on their way are still put back. */
  stop(): void {
    this.#stopping.abort();
  }

  /** Resolves when all are put back or refused, or it was stopped. */
  async run(): Promise<void> {
    this.#stopping = new AbortController();
    const rest = [...this.store.getSnapshot().context.refs];
    this.store.trigger.begun();
    const work = async () => {
      for (let ref = rest.shift(); ref !== undefined; ref = rest.shift()) {
        if (this.#stopping.signal.aborted) return;
        await this.#one(ref);
      }
    };
    await Promise.all(Array.from({ length: AT_ONCE }, work));
    const { done, refusals } = this.store.getSnapshot().context;
    const told = refusals.slice(0, MOST_TOLD);
    if (refusals.length > told.length) {
      told.push(TEXTS.list.moreRefused(refusals.length - told.length));
    }
    notify(TEXTS.events.replay.done(done - refusals.length), {
      isError: refusals.length > 0,
      details: told,
    });
    this.store.trigger.reset();
  }

  async #one(ref: Ref): Promise<void> {
    for (;;) {
      try {
        await replay(ref);
        this.store.trigger.one({ refusal: undefined });
        return;
      } catch (error) {
        const isBusy = error instanceof ClientError && [0, 429, 503].includes(error.status);
        if (!isBusy || this.#stopping.signal.aborted) {
          const { message } = troubleOf(error);
          this.store.trigger.one({ refusal: `${ref.id}: ${message}` });
          return;
        }
        this.store.trigger.full();
        await new Promise((resolve) => setTimeout(resolve, FULL_MS));
      }
    }
  }
}
