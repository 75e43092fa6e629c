/**
 * Where the spans of this replica's workflows go, and those of a replica that died: what had ended there a moment before may not
 * have been sent, so whoever takes its shards over sends it again, from what is stored. The ids are the same, so nothing is
 * there twice.
 */
import { loadWorkflow } from "../../engine/codec.ts";
import { type Clock, nextTurn } from "../../platform/clock.ts";
import type { Logger } from "../../platform/log.ts";
import type { SpanRecord, Traces } from "../../platform/traces/span.ts";
import type { ActorId, Change, Store } from "../../store/port.ts";
import type { Version } from "../../store/version.ts";
import { shardOf } from "../actor_ids.ts";
import type { SpanReceiver } from "../hot_actor.ts";
import { WorkflowTrace } from "./workflow_trace.ts";

/** How often it is noted which version the store has, ms; and for how long that is kept. */
const MARK_EVERY_MS = 5_000;
const KEPT_MS = 180_000;
const MARKS = "traces/marks";
/** Shards are taken over one after the other; their workflows are looked at together. */
const GATHER_MS = 500;
/** Most changes and workflows that one look reads. */
const MAX_CHANGES = 50_000;
const MAX_WORKFLOWS = 5_000;
/** Larger workflows are left out. */
const BOUNDS = { maxNodes: 2_000, maxSize: 2 ** 22 };

export interface SpanRecoveryDeps {
  traces: Traces;
  store: Pick<Store, "shards" | "query" | "blobs">;
  clock: Clock;
  log: Logger;
  /** Number of shards of the deployment. */
  shards(): number;
  /** How long a span may have waited in a replica before that was found dead, ms. */
  windowMs: number;
  /** Aborts when the server stops. */
  closing: AbortSignal;
}

/** A time, epoch ms, and the version of the store then. */
type Mark = [at: number, version: Version];

export class SpanRecovery implements SpanReceiver {
  readonly #deps: SpanRecoveryDeps;
  #shards = new Set<number>();

  constructor(deps: SpanRecoveryDeps) {
    this.#deps = deps;
  }

  /** Notes versions until the server stops. */
  async run(): Promise<void> {
    const { clock, log, closing } = this.#deps;
    while (!closing.aborted) {
      await this.#mark().catch((cause) => log.debug({ err: cause }, "no mark for traces"));
      await clock.sleep(MARK_EVERY_MS, closing);
    }
  }

  ended(spans: readonly SpanRecord[] | undefined): void {
    if (spans !== undefined) this.#deps.traces.emit(spans);
  }

  tookOver(shard: number): void {
    const isGathering = this.#shards.size > 0;
    this.#shards.add(shard);
    if (isGathering) return;
    const { clock, log } = this.#deps;
    clock.after(GATHER_MS, () => {
      const shards = this.#shards;
      this.#shards = new Set();
      this.#recover(shards, clock.now() - GATHER_MS).catch((cause) => {
        log.warn({ shards: shards.size, err: cause }, "spans of earlier owners may be lost");
      });
    });
  }

  async #mark(): Promise<void> {
    const { store, clock } = this.#deps;
    const [version, known] = await Promise.all([store.query.version(), this.#marks()]);
    const now = clock.now();
    const marks = known.filter(([at]) => at > now - KEPT_MS);
    const text = JSON.stringify([...marks, [now, version]]);
    await store.blobs.putBlob(MARKS, new TextEncoder().encode(text));
  }

  async #marks(): Promise<Mark[]> {
    const bytes = await this.#deps.store.blobs.getBlob(MARKS);
    if (bytes === undefined) return [];
    const marks: unknown = JSON.parse(new TextDecoder().decode(bytes));
    return Array.isArray(marks) ? marks.filter(isMark).sort(([a], [b]) => a - b) : [];
  }

  /** @param latest when the first of the shards was taken over: what has ended since then has been sent here */
  async #recover(shards: ReadonlySet<number>, latest: number): Promise<void> {
    const { windowMs, closing } = this.#deps;
    const earliest = latest - windowMs;
    const marks = await this.#marks();
    const mark = marks.findLast(([at]) => at <= earliest) ?? marks[0];
    if (mark === undefined) return;
    for (const id of await this.#changed(mark[1], shards)) {
      if (closing.aborted) return;
      await this.#send(id, earliest, latest);
      await nextTurn();
    }
  }

  /** Workflows of the shards that have changed since. */
  async #changed(since: Version, shards: ReadonlySet<number>): Promise<Set<ActorId>> {
    const { store, shards: total } = this.#deps;
    const found = new Set<ActorId>();
    let after = since;
    for (let read = 0; read < MAX_CHANGES && found.size < MAX_WORKFLOWS;) {
      const changes: Change[] = await store.query.changes(after);
      if (changes.length === 0) break;
      for (const { id, type } of changes) {
        const isOurs = id.startsWith("wf/") && shards.has(shardOf(id, total()));
        if (isOurs && type !== "DELETED") found.add(id);
      }
      after = changes.at(-1)?.version ?? after;
      read += changes.length;
    }
    return found;
  }

  async #send(id: ActorId, earliest: number, latest: number): Promise<void> {
    const { store, traces, log, shards } = this.#deps;
    const stored = await store.shards.loadActor(shardOf(id, shards()), id, BOUNDS);
    if (stored === undefined || stored.withoutNodes === true) return;
    try {
      const state = loadWorkflow(stored.parts);
      const trace = new WorkflowTrace(state, state.header.trace ?? {}, traces);
      traces.emit(trace.between(state, earliest, latest));
    } catch (cause) {
      // Whoever works on it says so too.
      log.debug({ actor: id, err: cause }, "no spans of an unreadable workflow");
    }
  }
}

function isMark(mark: unknown): mark is Mark {
  return Array.isArray(mark) && Number.isFinite(mark[0]) && typeof mark[1] === "string";
}
