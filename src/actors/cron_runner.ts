/**
 * Decides when cron workflows are looked at. Every replica knows all of them from the store's feed; each one is run by the
 * replica that rendezvous hashing gives it. Two owners for a moment do no harm: what a due time makes has a name that
 * derives from it.
 */
import {
  type DueRun,
  dueRuns,
  lastScheduleAnnotation,
  nextRunMs,
  scheduleText,
} from "../events/cron.ts";
import { type Clock, Pause, untilBeat } from "../platform/clock.ts";
import type { Ids } from "../platform/ids.ts";
import type { Logger } from "../platform/log.ts";
import { Turns } from "../platform/turns.ts";
import { type CronWorkflow, ManifestKind } from "../spec/manifest.ts";
import { type Change, type Store, VersionTooOld } from "../store/port.ts";
import type { Version } from "../store/version.ts";
import { shardOf } from "./actor_ids.ts";
import { ownerOf } from "./replicas/rendezvous.ts";
import { cronLabel, type Naming } from "../spec/naming.ts";

const KIND = ManifestKind.CronWorkflow;
/** A time that has passed this long ago counts as reached, not missed: it bridges the change of an owner. */
const GRACE_MS = 15_000;
/** Longest pause: replicas come and go unheard. */
const MAX_PAUSE_MS = 2_000;
const MAX_ATTEMPTS = 10;
/** Cron workflows that are read at once: thousands in one piece block the loop. */
const PAGE = 500;

export interface CronRunnerDeps {
  store: Pick<Store, "manifests" | "query" | "membership">;
  /** Shows the same time on all replicas. */
  clock: Clock;
  ids: Ids;
  log: Logger;
  replica: string;
  naming: Naming;
  /** Does what is due; may be called again for the same time. Rejects when it is to be tried again. */
  run(namespace: string, name: string, due: DueRun): Promise<void>;
  /** Looks at the workflows of a cron workflow: which have ended, which are too many. */
  reconcile(namespace: string, name: string): Promise<void>;
}

interface Entry {
  namespace: string;
  name: string;
  shard: number;
  cron: CronWorkflow;
  /** Since when its schedules are what they are; what was due before is not made up for. */
  sinceMs: number;
  lookedAtMs: number;
  nextMs: number | undefined;
  /** What is done for it, one after the other. */
  busy: Promise<void>;
  /** Runs among that which have not begun. */
  waiting: number;
  /** This replica runs it. */
  isOwn: boolean;
  isReconciled: boolean;
}

export class CronRunner {
  readonly #deps: CronRunnerDeps;
  readonly #entries = new Map<string, Entry>();
  /** Keys of the entries that have changed since they were looked at. */
  #news = new Set<string>();
  readonly #stop = new AbortController();
  readonly #turns = new Turns("cron");
  /** Not behind the runs that were begun: what comes due meanwhile must be seen in time. */
  readonly #looks = new Turns("cron looks");
  readonly #pause: Pause;
  #isLoaded = false;
  #shards = 1;
  #running: Promise<void> = Promise.resolve();

  constructor(deps: CronRunnerDeps) {
    this.#deps = deps;
    this.#pause = new Pause(deps.clock);
  }

  start(): void {
    this.#running = Promise.all([this.#follow(), this.#loop()]).then(() => {});
  }

  /** Begins nothing more; resolves when what was begun is done. */
  async stop(): Promise<void> {
    this.#stop.abort();
    await this.#running;
    await Promise.all([...this.#entries.values()].map(({ busy }) => busy));
  }

  /** Keeps the entries as the store has them. */
  async #follow(): Promise<void> {
    const { store, clock, log } = this.#deps;
    const { signal } = this.#stop;
    while (!signal.aborted) {
      try {
        const version = await this.#load();
        // The feed costs something: it is read only while there are cron workflows.
        if (this.#entries.size === 0) {
          await clock.sleep(untilBeat(clock.monotonic(), MAX_PAUSE_MS), signal);
          continue;
        }
        for await (const batch of store.query.watch(version, signal)) {
          for (const change of batch) {
            if (this.#looks.isOver) await this.#looks.pause();
            this.#see(change);
          }
          if (this.#entries.size === 0) break;
          if (this.#news.size > 0) this.#pause.end();
        }
      } catch (error) {
        if (!(error instanceof VersionTooOld)) log.warn({ err: error }, "cron workflows not read");
        await clock.sleep(MAX_PAUSE_MS, signal);
      }
    }
  }

  async #load(): Promise<Version> {
    const { manifests, membership } = this.#deps.store;
    this.#shards = await membership.shardCount(64);
    const ids = new Set<string>();
    // What changes meanwhile comes with the feed, which is followed from the first page on.
    let start: Version | undefined;
    let from: string | undefined;
    do {
      const page = await manifests.list(KIND, {
        limit: PAGE,
        ...(from !== undefined && { continue: from }),
      });
      start ??= page.version;
      for (const { namespace, name, text } of page.items) {
        if (this.#looks.isOver) await this.#looks.pause();
        ids.add(`${namespace}/${name}`);
        this.#put(namespace, name, text);
      }
      from = page.continue;
    } while (from !== undefined);
    for (const id of [...this.#entries.keys()]) if (!ids.has(id)) this.#entries.delete(id);
    this.#isLoaded = true;
    this.#pause.end();
    return start;
  }

  #see({ type, id, put, index }: Change): void {
    const [kind, namespace = "", name = ""] = id.split("/");
    if (kind === KIND) {
      const text = put["m"];
      if (type === "DELETED") this.#entries.delete(`${namespace}/${name}`);
      else if (text !== undefined) this.#put(namespace, name, text);
      return;
    }
    if (kind !== "wf" || (type === "MODIFIED" && (index?.finishedAt ?? 0) === 0)) return;
    const owner = index?.labels[cronLabel(this.#deps.naming)];
    const key = `${namespace}/${owner ?? ""}`;
    const entry = this.#entries.get(key);
    if (entry === undefined) return;
    entry.isReconciled = false;
    this.#news.add(key);
  }

  #put(namespace: string, name: string, text: string): void {
    this.#news.add(`${namespace}/${name}`);
    try {
      this.#enter(namespace, name, JSON.parse(text) as CronWorkflow);
    } catch (error) {
      // One that cannot be read never runs, and holds up no other.
      this.#entries.delete(`${namespace}/${name}`);
      this.#deps.log.error({ namespace, cron: name, err: error }, "cron workflow cannot be read");
    }
  }

  #enter(namespace: string, name: string, cron: CronWorkflow): void {
    const known = this.#entries.get(`${namespace}/${name}`);
    if (known !== undefined && known.cron.metadata.uid === cron.metadata.uid) {
      const before = known.cron;
      known.cron = cron;
      if (scheduleText(before.spec) !== scheduleText(cron.spec)) {
        known.sinceMs = this.#deps.clock.now();
        this.#lookFrom(known, known.sinceMs);
      } else if (mayRunNow(before, cron)) this.#lookBack(known);
      return;
    }
    const entry: Entry = {
      namespace,
      name,
      shard: shardOf(`cron/${namespace}/${name}`, this.#shards),
      cron,
      sinceMs: this.#firstLook(cron),
      lookedAtMs: 0,
      nextMs: undefined,
      busy: Promise.resolve(),
      waiting: 0,
      isOwn: false,
      isReconciled: false,
    };
    this.#lookFrom(entry, entry.sinceMs);
    this.#entries.set(`${namespace}/${name}`, entry);
  }

  /** The time up to which somebody surely looked at a cron workflow that was just found. */
  #firstLook(cron: CronWorkflow): number {
    const used = cron.metadata.annotations?.[lastScheduleAnnotation(this.#deps.naming)];
    const now = this.#deps.clock.now();
    if (used !== undefined && used !== scheduleText(cron.spec)) return now;
    const created = Date.parse(cron.metadata.creationTimestamp ?? "");
    return lastScheduledMs(cron) ?? (Number.isNaN(created) ? now : created);
  }

  /** Looks again at the due times that `startingDeadlineSeconds` still lets run. */
  #lookBack(entry: Entry): void {
    const { startingDeadlineSeconds = 0 } = entry.cron.spec;
    const last = lastScheduledMs(entry.cron);
    if (startingDeadlineSeconds <= 0 || last === undefined) return;
    const inTime = this.#deps.clock.now() - startingDeadlineSeconds * 1000;
    const from = Math.max(last, entry.sinceMs, inTime);
    if (from < entry.lookedAtMs) this.#lookFrom(entry, from);
  }

  #lookFrom(entry: Entry, ms: number): void {
    entry.lookedAtMs = ms;
    entry.nextMs = nextRunMs(entry.cron, ms);
  }

  async #loop(): Promise<void> {
    const { store, clock, log } = this.#deps;
    const { signal } = this.#stop;
    let allAt = 0;
    while (!signal.aborted) {
      let isAll = true;
      let next = Infinity;
      try {
        if (this.#isLoaded && this.#entries.size > 0) {
          const replicas = await store.membership.replicas();
          isAll = clock.now() >= allAt;
          // When thousands run together, each of them soon changes.
          next = await this.#look(isAll ? this.#entries.keys() : this.#news, replicas);
        }
      } catch (error) {
        log.warn({ err: error }, "cron workflows not looked at");
      }
      const now = clock.now();
      const pauseMs = untilBeat(clock.monotonic(), MAX_PAUSE_MS);
      allAt = Math.min(next, isAll ? now + pauseMs : allAt);
      await this.#pause.take(Math.max(0, allAt - now), signal);
    }
  }

  /** Begins what is due of some entries; the time when the next one is. */
  async #look(keys: Iterable<string>, replicas: readonly string[]): Promise<number> {
    const now = this.#deps.clock.now();
    this.#news = new Set();
    let next = Infinity;
    for (const key of keys) {
      if (this.#looks.isOver) await this.#looks.pause();
      if (this.#stop.signal.aborted) break;
      const entry = this.#entries.get(key);
      if (entry === undefined) continue;
      if (ownerOf(entry.shard, replicas) !== this.#deps.replica) {
        // Its owner looks at it; what it has not reached when it dies is within the grace.
        if ((entry.nextMs ?? Infinity) < now - GRACE_MS) this.#lookFrom(entry, now - GRACE_MS);
        entry.isOwn = entry.isReconciled = false;
        continue;
      }
      if (!entry.isOwn) {
        entry.isOwn = true;
        // The owner before may not have been able to run it for longer than the grace.
        this.#lookBack(entry);
      }
      if (!entry.isReconciled) {
        entry.isReconciled = true;
        this.#begin(entry, () => this.#deps.reconcile(entry.namespace, entry.name));
      }
      for (const due of this.#dueNow(entry, now)) {
        this.#begin(entry, () => this.#deps.run(entry.namespace, entry.name, due), due.dueMs);
      }
      next = Math.min(next, entry.nextMs ?? Infinity);
    }
    return next;
  }

  #dueNow(entry: Entry, now: number): DueRun[] {
    if (entry.nextMs === undefined || entry.nextMs > now) return [];
    const last = lastScheduledMs(entry.cron);
    if (last !== undefined && last > entry.lookedAtMs) this.#lookFrom(entry, last);
    const runs: DueRun[] = [];
    while (entry.nextMs !== undefined && entry.nextMs <= now) {
      const dueMs = entry.nextMs;
      if (now - dueMs <= GRACE_MS) {
        runs.push({ dueMs, missed: false });
        this.#lookFrom(entry, dueMs);
        continue;
      }
      const { lookedAtMs } = entry;
      const progress = { lookedAtMs, lastScheduledMs: last };
      runs.push(...dueRuns(entry.cron, progress, now, GRACE_MS));
      this.#lookFrom(entry, now);
    }
    return runs;
  }

  /**
   * Does something for a cron workflow after what was begun for it before. What fails for long is looked at anew.
   * @param dueMs of a run
   */
  #begin(entry: Entry, work: () => Promise<void>, dueMs?: number): void {
    const isRun = dueMs !== undefined;
    if (isRun) entry.waiting++;
    entry.busy = entry.busy.then(async () => {
      if (isRun) entry.waiting--;
      if (await this.#hasDone(entry, work, dueMs)) return;
      if (!isRun) entry.isReconciled = false;
      else if (entry.waiting === 0) this.#lookBack(entry);
    });
  }

  /** False when it failed again and again, or so long that the next run has come due. */
  async #hasDone(entry: Entry, work: () => Promise<void>, dueMs = Infinity): Promise<boolean> {
    const { clock, ids, log } = this.#deps;
    const { namespace, name } = entry;
    for (let attempt = 1; !this.#stop.signal.aborted; attempt++) {
      try {
        // Hundreds may be due at the same moment.
        await this.#turns.do(work);
        return true;
      } catch (error) {
        log.warn({ namespace, cron: name, attempt, err: error }, "cron workflow in trouble");
        const isOvertaken = entry.waiting > 0 && clock.now() - dueMs > GRACE_MS;
        if (isOvertaken || attempt === MAX_ATTEMPTS) return false;
        const wait = Math.min(10_000, 200 * 2 ** attempt) * (0.5 + ids.fraction());
        await clock.sleep(wait, this.#stop.signal);
      }
    }
    return false;
  }
}

/** Whether a due time that passed without a run might not do so now. */
function mayRunNow(before: CronWorkflow, after: CronWorkflow): boolean {
  const activeOf = ({ status }: CronWorkflow) => status?.active?.length ?? 0;
  return activeOf(after) < activeOf(before) ||
    JSON.stringify(before.spec) !== JSON.stringify(after.spec);
}

function lastScheduledMs(cron: CronWorkflow): number | undefined {
  const ms = Date.parse(cron.status?.lastScheduledTime ?? "");
  return Number.isNaN(ms) ? undefined : ms;
}
