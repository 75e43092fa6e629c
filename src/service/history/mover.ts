/**
 * Moves finished workflows into the archive. Each replica moves those of its own shards: it writes them to the archive, and
 * when that is durable, tells their actors to leave. An actor leaves only if it is still as it was written. So a workflow is
 * in the store, or in the archive, or in both, and then the store is right. Whatever dies in between, the next look does it again.
 */
import type { Archive, ArchivedWorkflow } from "../../archive/port.ts";
import { shardOf } from "../../actors/actor_ids.ts";
import type { WorkflowHost } from "../../actors/port.ts";
import { BoundedCache } from "../../base/bounded_cache.ts";
import { isProblem, Problem, ProblemCode } from "../../base/problem.ts";
import type { LabelTerm } from "../../expr/selectors/label_selector.ts";
import type { Clock } from "../../platform/clock.ts";
import type { Logger } from "../../platform/log.ts";
import { Turns } from "../../platform/turns.ts";
import type { EndPhase } from "../../spec/manifest.ts";
import { archivingStatusLabel, PERSISTED } from "../../spec/naming.ts";
import type { ActorId, IndexEntry, ListQuery, Store, StoredActor } from "../../store/port.ts";
import { archivedSteps, type FormOptions, isDeleted } from "./archived_form.ts";
import type { MoveMetrics, MoveOutcome } from "./move_metrics.ts";
import { StaleNotes } from "./stale_notes.ts";

/** Time between two looks at what has ended, ms. */
const LOOK_MS = 2_000;
/** Longest time between two looks while the archive is away, ms. */
const LONGEST_LOOK_MS = 30_000;
/** A look that moved nothing is followed by a rest so many times as long: many finished workflows may have to stay. */
const REST_SHARE = 20;
/** While the archive is away, a look ends after so many that are due. */
const MOST_COUNTED = 10_000;
/** Entries that are looked at together. */
const PAGE = 500;
const MAX_SCAN = 5_000;
/** Workflows that are written together, and characters of their objects, about. */
const BATCH = 50;
const MAX_WRITE = 2 ** 22;
/** Workflows that a replica moves in a second, at most: a backlog must not take the store from others. */
const MAX_RATE = 500;
/** A larger workflow stays in the store: nodes, and characters of its stored parts. */
const BOUNDS = { maxNodes: 10_000, maxSize: 2 ** 23 };
/** How long it is known that a workflow has left, ms. */
const ANSWER_MS = 120_000;
/** Notes of workflows that have left are taken away together. */
const MOST_NOTES = 500;
/** So many workflows that stay are remembered, so that they are not read again and again. */
const MOST_STAYING = 100_000;

export interface MoverOptions extends FormOptions {
  /** How long after its end a workflow stays in the store, by phase, ms. */
  keepMs: Readonly<Record<EndPhase, number>>;
  /** Labels of the workflows that the archive has. */
  selector: readonly LabelTerm[];
  /** Tells whether a workflow with these labels stays in the archive when it is deleted. */
  isKept(labels: Record<string, string>): boolean;
  /**
   * Rests so many times as long as it has worked: where store, archive and requests share one thread, that takes little from
   * them. @default {0}
   */
  restShare?: number;
  /** Tells workflows that have to stay although they have ended. */
  stays?(entry: IndexEntry): boolean;
}

export interface MoverDeps {
  /** Without the archive. */
  store: Pick<Store, "query" | "shards">;
  archive: Archive;
  host: Pick<WorkflowHost, "execute" | "owns" | "shards">;
  clock: Clock;
  log: Logger;
  metrics: MoveMetrics;
}

/** Which workflows are to move. */
interface Due {
  query: Omit<ListQuery, "limit">;
  keepMs: number;
}

interface Candidate {
  id: ActorId;
  version: string;
  index: IndexEntry;
}

/** A row, and of what it is. */
interface Written {
  candidate: Candidate;
  row: ArchivedWorkflow;
  /** When the workflow was read, epoch ms. */
  readAt: number;
}

export class Mover {
  readonly #deps: MoverDeps;
  readonly #options: MoverOptions;
  /** Version of those that stay, by id. */
  readonly #staying = new BoundedCache<ActorId, string>(MOST_STAYING);
  /** Uids of those that have left, of which the archive does not know it yet. */
  #left: string[] = [];
  readonly #notes: StaleNotes;
  #away: unknown;
  #isAway = false;
  /** Since when the first of those that are left has been due, epoch ms, as of the last whole look. */
  #dueSince = Infinity;

  constructor(deps: MoverDeps, options: MoverOptions) {
    this.#deps = deps;
    this.#options = options;
    this.#notes = new StaleNotes(deps);
  }

  /** Looks again and again until the signal aborts. */
  async run(signal: AbortSignal): Promise<void> {
    const { clock, log } = this.#deps;
    for (let failures = 0; !signal.aborted;) {
      const begun = clock.monotonic();
      let rest = 0;
      try {
        const moved = await this.look(signal);
        if (moved === 0 && !this.#isAway) rest = (clock.monotonic() - begun) * REST_SHARE;
        failures = this.#isAway ? failures + 1 : 0;
      } catch (error) {
        failures++;
        if (!signal.aborted) log.warn({ err: error }, "finished workflows were not archived");
      }
      const pause = Math.min(LOOK_MS * 2 ** Math.min(failures, 8), LONGEST_LOOK_MS);
      await clock.sleep(Math.max(pause, rest), signal);
    }
  }

  /**
   * Moves all that are due now, at a bounded rate. While the archive is away, it only counts them, up to a bound.
   * @returns how many are no longer due
   */
  async look(signal: AbortSignal): Promise<number> {
    const { metrics, clock } = this.#deps;
    this.#isAway = false;
    let [left, moved, dueSince] = [0, 0, Infinity];
    const isCut = () => this.#isAway && left >= MOST_COUNTED;
    for (const due of this.#due()) {
      if (isCut()) break;
      for await (const found of this.#candidates(due, signal)) {
        if (isCut()) break;
        moved += found.length;
        for (let from = 0; from < found.length; from += BATCH) {
          const batch = found.slice(from, from + BATCH);
          for (const { index: { finishedAt = Infinity } } of await this.#moveBatch(batch, signal)) {
            left++;
            moved--;
            dueSince = Math.min(dueSince, finishedAt + due.keepMs);
          }
        }
      }
    }
    await this.#noteLeft();
    if (!this.#isAway) await this.#notes.sweep();
    // Those that ended first come last.
    if (isCut()) dueSince = Math.min(dueSince, this.#dueSince);
    this.#dueSince = dueSince;
    metrics.looked(left, dueSince === Infinity ? 0 : Math.max(0, clock.now() - dueSince));
    return moved;
  }

  #due(): Due[] {
    const { keepMs, naming, selector } = this.#options;
    const status = archivingStatusLabel(naming);
    const labels = selector.length > 0 ? { labels: [...selector] } : {};
    const phases = Object.entries(keepMs).map(([phase, keep]): Due => ({
      query: { kind: "wf", phases: [phase], ...labels },
      keepMs: keep,
    }));
    // A deleted one cannot be retried where it is.
    const deleted = { key: status, operator: "=", values: [PERSISTED] } as const;
    return [
      { query: { kind: "wf", labels: [deleted as unknown as LabelTerm] }, keepMs: 0 },
      ...phases,
    ];
  }

  /** Those of this replica's shards, a page at a time. */
  async *#candidates({ query, keepMs }: Due, signal: AbortSignal): AsyncIterable<Candidate[]> {
    const { store, host, clock } = this.#deps;
    const finishedBefore = clock.now() - keepMs;
    let next: string | undefined;
    do {
      const page = await store.query.list({
        ...query,
        finishedBefore,
        limit: PAGE,
        maxScan: MAX_SCAN,
        parts: [],
        ...(next !== undefined && { continue: next }),
      });
      yield page.items.filter(({ id, version, index }) =>
        host.owns(index.namespace, index.name) && this.#staying.get(id) !== version &&
        this.#options.stays?.(index) !== true
      );
      next = page.continue;
    } while (next !== undefined && !signal.aborted);
  }

  /** Gives those that are still to move. */
  async #moveBatch(batch: Candidate[], signal: AbortSignal): Promise<Candidate[]> {
    if (batch.length === 0) return batch;
    const { clock } = this.#deps;
    const begun = clock.monotonic();
    const left: Candidate[] = [];
    const turns = new Turns("archive");
    let rows: Written[] = [];
    let size = 0;
    for (const [index, candidate] of batch.entries()) {
      if (this.#isAway || signal.aborted) {
        left.push(...batch.slice(index));
        break;
      }
      const written = await this.#rowOf(candidate, turns);
      await turns.pause();
      if (written === undefined) continue;
      rows.push(written);
      size += written.row.object.length;
      if (size < MAX_WRITE) continue;
      left.push(...await this.#move(rows));
      [rows, size] = [[], 0];
    }
    if (rows.length > 0) left.push(...this.#isAway ? candidatesOf(rows) : await this.#move(rows));
    const took = clock.monotonic() - begun;
    const { restShare = 0 } = this.#options;
    const pause = Math.max(batch.length / MAX_RATE * 1_000 - took, took * restShare);
    if (pause > 0 && !this.#isAway) await clock.sleep(pause, signal);
    return left;
  }

  /** Writes them, and lets them leave. Gives those that could not be written. */
  async #move(rows: Written[]): Promise<Candidate[]> {
    const { metrics, archive } = this.#deps;
    try {
      await archive.put(rows.map(({ row }) => row));
    } catch (error) {
      if (isProblem(error, ProblemCode.InvalidArgument)) {
        return await this.#moveRefused(rows, error);
      }
      metrics.wrote("failed", rows.length);
      this.#noteAway(error);
      return candidatesOf(rows);
    }
    this.#noteBack();
    const outcomes = await Promise.all(rows.map((row) => this.#leave(row)));
    for (const outcome of outcomes) metrics.wrote(outcome, 1);
    for (const [at, { row }] of rows.entries()) {
      if (outcomes[at] === "moved") this.#left.push(row.uid);
    }
    if (this.#left.length >= MOST_NOTES) await this.#noteLeft();
    return candidatesOf(rows.filter((_, at) => outcomes[at] === "failed"));
  }

  /** The archive takes not all of these: each is tried alone, so that one that can't be stored holds up no other. */
  async #moveRefused(rows: Written[], cause: Problem): Promise<Candidate[]> {
    const [only] = rows;
    if (rows.length === 1 && only !== undefined) {
      const { candidate } = only;
      this.#deps.log.warn({ actor: candidate.id, err: cause }, "a workflow cannot be archived");
      this.#stay(candidate, "unreadable");
      return [];
    }
    const left: Candidate[] = [];
    for (const row of rows) left.push(...this.#isAway ? [row.candidate] : await this.#move([row]));
    return left;
  }

  /** Tells the archive who has left. What is forgotten here is found later. */
  async #noteLeft(): Promise<void> {
    const uids = this.#left;
    this.#left = [];
    try {
      for (let first = 0; first < uids.length; first += MOST_NOTES) {
        await this.#deps.archive.noteLeft(uids.slice(first, first + MOST_NOTES));
      }
    } catch (error) {
      this.#noteAway(error);
    }
  }

  /** The row of a workflow as it is now; undefined if it is not to be moved. */
  async #rowOf(known: Candidate, turns: Turns): Promise<Written | undefined> {
    const { id } = known;
    const readAt = this.#deps.clock.now();
    const stored = await this.#load(id);
    if (stored === undefined) return undefined;
    const candidate = { ...known, version: stored.version };
    if (stored.withoutNodes === true) return this.#stay(candidate, "too-large");
    try {
      const { row, isHeld } = await turns.run(archivedSteps(stored, this.#options));
      if (row === undefined) return undefined;
      const isKeptBack = isHeld && !isDeleted(row.labels, this.#options.naming);
      return isKeptBack ? this.#stay(candidate, "stays") : { candidate, row, readAt };
    } catch (error) {
      this.#deps.log.warn({ actor: id, err: error }, "a workflow cannot be archived");
      return this.#stay(candidate, "unreadable");
    }
  }

  #load(id: ActorId): Promise<StoredActor | undefined> {
    const { store, host } = this.#deps;
    return store.shards.loadActor(shardOf(id, host.shards), id, BOUNDS);
  }

  #stay({ id, version }: Candidate, outcome: MoveOutcome): undefined {
    this.#staying.set(id, version);
    this.#deps.metrics.wrote(outcome, 1);
  }

  /** A repeat within the time for which the answer is kept has the same answer. */
  async #leave({ candidate, row, readAt }: Written): Promise<MoveOutcome> {
    const { version, index: { namespace, name } } = candidate;
    const { clock, host } = this.#deps;
    const key = `moved/${row.uid}/${row.edition}`;
    const idempotency = { key, fingerprint: key, ttlMs: ANSWER_MS };
    try {
      await host.execute(namespace, name, { type: "leave", version }, { idempotency });
      return "moved";
    } catch (error) {
      if (!(error instanceof Problem)) return "failed";
      if (error.code === ProblemCode.NotFound && clock.now() - readAt < ANSWER_MS / 2) {
        await this.#undo(row);
      }
      const isChanged = error.code === ProblemCode.NotFound || error.code === ProblemCode.Aborted;
      return isChanged ? "changed" : "failed";
    }
  }

  /** Nobody has moved it, so it was deleted meanwhile: what was written must not show it. */
  async #undo({ uid, edition, labels }: ArchivedWorkflow): Promise<void> {
    const { archive } = this.#deps;
    // What is kept of a deleted one replaces it, unless this is it: then it was deleted for good.
    if (this.#options.isKept(labels) && !isDeleted(labels, this.#options.naming)) return;
    try {
      if ((await archive.editions([uid])).get(uid) === edition) await archive.remove([uid]);
    } catch (error) {
      this.#deps.log.warn({ uid, err: error }, "a deleted workflow stays in the archive");
    }
  }

  #noteAway(cause: unknown): void {
    const { metrics, log } = this.#deps;
    this.#isAway = true;
    if (this.#away === undefined) {
      log.warn({ err: cause }, "the archive is unreachable: finished workflows stay in the store");
    }
    this.#away = cause;
    metrics.away(cause);
  }

  #noteBack(): void {
    if (this.#away !== undefined) this.#deps.log.info("the archive is back");
    this.#away = undefined;
    this.#deps.metrics.away(undefined);
  }
}

function candidatesOf(rows: readonly Written[]): Candidate[] {
  return rows.map(({ candidate }) => candidate);
}
