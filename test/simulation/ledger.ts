/**
 * What really happened to a simulated store, whatever replicas believe. The ledger wraps the store itself and sees
 * every commit, lease and event. It detects what must never happen at any moment; `checks.ts` checks what must be true
 * at the end.
 */
import { hashText, mix, parseWorkflowActorId } from "../../src/actors/actor_ids.ts";
import { type Header, isCompleted, type NodeRecord } from "../../src/engine/records.ts";
import type { EventEnvelope } from "../../src/service/events/intake.ts";
import {
  type ActorChange,
  NODE_PART_PREFIX,
  type ShardCommit,
  StaleEpoch,
  type Store,
} from "../../src/store/port.ts";
import type { Delivery } from "../../src/store/event_port.ts";
import { NAMESPACE, type Payload } from "./catalogue.ts";
import type { Coverage } from "./coverage.ts";

/** Prefix of the labels that identify commands in what they changed. */
export const OP_LABEL = "op-";

/** One workflow from its creation to its removal. */
export interface Life {
  uid: string;
  name: string;
  labels: Record<string, string>;
  bornAt: number;
  phase: Header["phase"];
  /** Text of every finished node, by part. */
  readonly finished: Map<string, string>;
  isRemoved: boolean;
}

/** One event that was accepted. */
export interface LedgerEvent {
  id: string;
  payload: Payload;
  /** Its last record; undefined while it is queued. */
  delivery: Delivery | undefined;
}

export class Ledger {
  /** What must never happen and did. */
  readonly wrong: string[] = [];
  readonly lives = new Map<string, Life[]>();
  /** Commands that were applied: label → how often it appeared. */
  readonly applied = new Map<string, number>();
  readonly events = new Map<string, LedgerEvent>();
  /** Equal runs give equal numbers. */
  trace = 0;
  readonly #now: () => number;
  readonly #coverage: Coverage;
  readonly #claimMs: number;
  readonly #leases = new Map<number, { owner: string; epoch: number; isReleased: boolean }>();
  readonly #uids = new Set<string>();
  readonly #timers = new Map<string, number>();
  readonly #holders = new Map<string, { worker: string; at: number }>();
  readonly #locked = new Set<string>();
  readonly #read = new Map<number, number>();

  constructor(now: () => number, coverage: Coverage, claimMs: number) {
    this.#now = now;
    this.#coverage = coverage;
    this.#claimMs = claimMs;
  }

  /** The current life of a workflow, if there is one. */
  lifeOf(name: string): Life | undefined {
    const last = this.lives.get(name)?.at(-1);
    return last?.isRemoved === false ? last : undefined;
  }

  /** Events that are still in the queue. */
  get openEvents(): LedgerEvent[] {
    return [...this.events.values()].filter(({ delivery }) => delivery === undefined);
  }

  /** Shards whose last lease a replica holds. */
  ownedBy(replica: string): number[] {
    return [...this.#leases].filter(([, { owner, isReleased }]) => owner === replica && !isReleased)
      .map(([shard]) => shard);
  }

  /** Records something that an equal run must repeat. */
  note(...facts: (string | number)[]): void {
    this.trace = mix(this.trace ^ hashText(facts.join(" ")));
  }

  /** The store wrapped by the ledger. */
  over(store: Store): Store {
    const { membership, shards, events } = store;
    return {
      ...store,
      membership: {
        ...membership,
        acquire: async (shard, replica, ttlMs) => {
          const lease = await membership.acquire(shard, replica, ttlMs);
          if (lease) this.#acquired(shard, replica, lease.epoch);
          return lease;
        },
        release: (lease) => {
          const known = this.#leases.get(lease.shard);
          if (known?.epoch === lease.epoch) known.isReleased = true;
          return membership.release(lease);
        },
      },
      shards: {
        ...shards,
        append: (entries) => {
          for (const { command } of entries) {
            if (command.replyTo) this.#coverage.add("mailbox: command through another replica");
          }
          return shards.append(entries);
        },
        readMailboxes: async (...args) => {
          const entries = await shards.readMailboxes(...args);
          for (const { shard, cursor } of entries) {
            const last = this.#read.get(shard) ?? 0;
            if (Number(cursor) <= last) {
              this.#coverage.add("mailbox: read again after a take-over");
            } else this.#read.set(shard, Number(cursor));
          }
          return entries;
        },
        commit: async (commit) => {
          try {
            const result = await shards.commit(commit);
            this.#committed(commit);
            return result;
          } catch (cause) {
            if (cause instanceof StaleEpoch) this.#coverage.add("shard: late write refused");
            throw cause;
          }
        },
      },
      events: {
        ...events,
        offer: async (event, bound, dedupe) => {
          const answer = await events.offer(event, bound, dedupe);
          if (answer.result === "accepted") {
            this.#coverage.add("event: accepted");
            const { payload } = JSON.parse(event.text) as EventEnvelope;
            this.events.set(event.id, {
              id: event.id,
              payload: payload as unknown as Payload,
              delivery: undefined,
            });
          } else if (answer.result === "full") this.#coverage.add("event: queue full");
          else if (dedupe) this.#coverage.add("event: known by its key");
          return answer;
        },
        take: async (worker, ...args) => {
          const taken = await events.take(worker, ...args);
          for (const { id } of taken) this.#taken(id, worker);
          return taken;
        },
        touch: (worker, ids) => {
          for (const id of ids) {
            const holder = this.#holders.get(id);
            if (holder?.worker === worker) holder.at = this.#now();
          }
          return events.touch(worker, ids);
        },
        finish: (deliveries) => {
          for (const delivery of deliveries) this.#finished(delivery);
          return events.finish(deliveries);
        },
        retryLater: (delivery, afterMs) => {
          if (this.events.get(delivery.id)?.delivery === undefined) {
            this.#coverage.add("event: brought back");
            this.#holders.delete(delivery.id);
          }
          return events.retryLater(delivery, afterMs);
        },
        amend: (delivery) => {
          const event = this.events.get(delivery.id);
          if (event?.delivery) event.delivery = delivery;
          return events.amend(delivery);
        },
      },
    };
  }

  #acquired(shard: number, owner: string, epoch: number): void {
    const last = this.#leases.get(shard);
    if (last && last.owner !== owner) {
      this.#coverage.add(last.isReleased ? "shard: handed over" : "shard: taken over");
    }
    if (last && epoch <= last.epoch) {
      this.wrong.push(`shard ${shard}: epoch ${epoch} was given out twice`);
    }
    this.#leases.set(shard, { owner, epoch, isReleased: false });
    this.note("lease", shard, owner, epoch);
  }

  #committed(commit: ShardCommit): void {
    const { shard, epoch, cursor = "", actors, timersSet, timersClear } = commit;
    this.note("commit", shard, epoch, cursor, this.#now(), ...actors.map(({ id }) => id));
    for (const id of timersClear) {
      if ((this.#timers.get(id) ?? Infinity) <= this.#now()) this.#coverage.add("timer: fired");
      this.#timers.delete(id);
    }
    for (const [id, at] of Object.entries(timersSet)) this.#timers.set(id, at);
    for (const change of actors) {
      const place = parseWorkflowActorId(change.id);
      if (place?.namespace === NAMESPACE) this.#changed(place.name, change);
    }
  }

  #changed(name: string, change: ActorChange): void {
    const life = this.lifeOf(name);
    if (change.remove) {
      if (life === undefined) return;
      life.isRemoved = true;
      this.#locked.delete(name);
      if (life.labels["kind"] === "ttl" && life.phase === "Succeeded") {
        this.#coverage.add("workflow: removed by its time to live");
      }
      return;
    }
    const head = change.put.find(({ key }) => key === "h")?.text;
    const header = head === undefined ? undefined : JSON.parse(head) as Header;
    const present = life ?? this.#born(name, header);
    if (!present) return;
    let isRetried = false;
    for (const [label, value] of Object.entries(header?.metadata.labels ?? {})) {
      if (!label.startsWith(OP_LABEL) || present.labels[label] !== undefined) continue;
      this.applied.set(label, (this.applied.get(label) ?? 0) + 1);
      if (value === "retry") isRetried = true;
    }
    if (header) {
      present.labels = header.metadata.labels ?? {};
      if (isCompleted(present.phase) && present.phase !== header.phase && !isRetried) {
        this.wrong.push(`${name}: went from ${present.phase} to ${header.phase}`);
      }
      present.phase = header.phase;
      if (header.earlyCallbacks !== undefined) {
        this.#coverage.add("callback URL: kept until its step waits");
      }
      this.#lockChanged(present, header);
    }
    this.#nodesChanged(present, change, isRetried);
  }

  /** The workflows of kind `lock` share a mutex. */
  #lockChanged({ name, labels }: Life, { lock }: Header): void {
    if (labels["kind"] !== "lock") return;
    if (lock?.isHeld === false && lock.waiting !== undefined) {
      this.#coverage.add("lock: waited for");
    }
    if (lock?.isHeld !== true) return void this.#locked.delete(name);
    this.#locked.add(name);
    if (this.#locked.size > 1) {
      this.wrong.push(`the mutex is held by ${[...this.#locked].join(" and ")}`);
    }
  }

  #born(name: string, header: Header | undefined): Life | undefined {
    const uid = header?.metadata.uid ?? "";
    if (header === undefined) {
      this.wrong.push(`${name}: changed before it was made`);
      return undefined;
    }
    if (this.#uids.has(uid)) this.wrong.push(`${name}: ${uid} was made twice`);
    this.#uids.add(uid);
    const life: Life = {
      uid,
      name,
      labels: {},
      bornAt: this.#now(),
      phase: "",
      finished: new Map(),
      isRemoved: false,
    };
    this.lives.set(name, [...this.lives.get(name) ?? [], life]);
    return life;
  }

  #nodesChanged({ name, finished }: Life, { put, drop }: ActorChange, isRetried: boolean): void {
    const change = (part: string, text: string | undefined) => {
      const before = finished.get(part);
      if (before !== undefined && before !== text && !isRetried) {
        this.wrong.push(`${name}: finished ${part} changed from ${before} to ${text}`);
      }
      if (text === undefined) finished.delete(part);
      else finished.set(part, text);
    };
    for (const part of drop) if (part.startsWith(NODE_PART_PREFIX)) change(part, undefined);
    for (const { key: part, text } of put) {
      if (!part.startsWith(NODE_PART_PREFIX)) continue;
      const { phase, outputs, finishedAt } = JSON.parse(text) as NodeRecord;
      const isOver = isCompleted(phase) || phase === "Skipped" || phase === "Omitted";
      change(part, isOver ? JSON.stringify([phase, outputs, finishedAt]) : undefined);
    }
  }

  #taken(id: string, worker: string): void {
    const holder = this.#holders.get(id);
    if (holder) {
      this.#coverage.add("event: claimed from a silent worker");
      if (this.#now() - holder.at < this.#claimMs) {
        this.wrong.push(`event ${id}: taken by ${worker} while ${holder.worker} worked on it`);
      }
    }
    this.#holders.set(id, { worker, at: this.#now() });
    this.note("take", id, worker);
  }

  #finished(delivery: Delivery): void {
    const event = this.events.get(delivery.id);
    this.#holders.delete(delivery.id);
    if (event === undefined || event.delivery !== undefined) return;
    event.delivery = delivery;
    if (delivery.state === "dead") this.#coverage.add("event: dead letter");
    for (const { outcome } of delivery.bindings) {
      if (outcome === "waiting") this.#coverage.add("event: callback waited");
    }
    const matched = delivery.bindings.filter(({ outcome }) => outcome !== "not-matched");
    if (matched.length > 1) this.#coverage.add("event: several bindings");
    this.note("event", delivery.id, delivery.state);
  }
}
