/** An archive in memory, for simulations and properties: what it says is what the port says. */
import type {
  Archive,
  ArchivedEntry,
  ArchivedWorkflow,
  ArchiveQuery,
} from "../../src/archive/port.ts";
import {
  beginningOf,
  checkQuery,
  comparePositions,
  isExpired,
  matchesEntry,
  positionOf,
} from "../../src/archive/query.ts";

export class MemoryArchive implements Archive {
  readonly rows: Map<string, ArchivedWorkflow> = new Map();
  /** Uids of rows that the store is noted to have too, and whether they have come back there. */
  readonly live: Map<string, boolean> = new Map();
  put(rows: readonly ArchivedWorkflow[]): Promise<void> {
    for (const row of rows) {
      const old = this.rows.get(row.uid)?.edition ?? 0;
      if (old > row.edition) continue;
      this.rows.set(row.uid, row);
      this.live.set(row.uid, old === row.edition && this.live.get(row.uid) === true);
    }
    return Promise.resolve();
  }

  get(uid: string) {
    return Promise.resolve(this.rows.get(uid));
  }

  findByName(namespace: string, name: string) {
    return Promise.resolve(
      this.#sorted().find((row) => row.namespace === namespace && row.name === name),
    );
  }

  list(query: ArchiveQuery) {
    checkQuery(query, new Set());
    const start = beginningOf(query);
    const found = this.#sorted().filter((row) =>
      comparePositions(positionOf(row), start) > 0 && matchesEntry(row, query)
    );
    const items = found.slice(0, query.limit)
      .map((row) => query.withoutObjects === true ? { ...row, object: "" } : row);
    const last = items.at(-1);
    const isMore = items.length < found.length && last !== undefined;
    return Promise.resolve({ items, ...(isMore && { next: positionOf(last) }) });
  }

  editions(uids: readonly string[]) {
    return Promise.resolve(
      new Map(uids.flatMap((uid) => {
        const row = this.rows.get(uid);
        return row === undefined ? [] : [[uid, row.edition] as const];
      })),
    );
  }

  remove(uids: readonly string[]): Promise<void> {
    for (const uid of uids) this.rows.delete(uid);
    return this.noteLeft(uids, true);
  }

  expired(...[rule, limit]: Parameters<Archive["expired"]>) {
    const items: ArchivedEntry[] = this.#sorted().filter((row) => isExpired(row, rule));
    return Promise.resolve({ items: items.slice(0, limit) });
  }

  labelKeys() {
    const keys = this.#sorted().flatMap(({ labels }) => Object.keys(labels));
    return Promise.resolve([...new Set(keys)].sort());
  }

  labelValues(_namespace: string | undefined, key: string) {
    const values = this.#sorted().flatMap(({ labels }) => labels[key] ?? []);
    return Promise.resolve([...new Set(values)].sort());
  }

  dayCounts() {
    return Promise.resolve([]);
  }

  createdCounts(bounds: readonly number[], namespace?: string) {
    const rows = this.#sorted().filter((row) => (namespace ?? row.namespace) === row.namespace);
    const phases: Record<string, number[]> = {};
    for (const { phase, createdAt } of rows) {
      const counts = phases[phase] ??= bounds.slice(1).map(() => 0);
      const span = bounds.findLastIndex((bound) => bound <= createdAt);
      if (counts[span] !== undefined) counts[span]++;
    }
    const oldest = rows.at(-1)?.createdAt;
    return Promise.resolve({ phases, ...(oldest !== undefined && { oldest }) });
  }

  noteBack(uids: readonly string[]): Promise<void> {
    for (const uid of uids) if (this.rows.has(uid)) this.live.set(uid, true);
    return Promise.resolve();
  }

  noteLeft(uids: readonly string[], isCertain = false): Promise<void> {
    for (const uid of uids) if (isCertain || this.live.get(uid) === false) this.live.delete(uid);
    return Promise.resolve();
  }

  notedLive(limit: number, after = ""): Promise<ArchivedEntry[]> {
    const uids = [...this.live.keys()].filter((uid) => uid > after).sort().slice(0, limit);
    return Promise.resolve(uids.flatMap((uid) => this.rows.get(uid) ?? []));
  }

  ping(): Promise<void> {
    return Promise.resolve();
  }

  close(): Promise<void> {
    return Promise.resolve();
  }

  /** Its methods as members of their own, as fakes of networks need them. */
  get port(): Archive {
    const names = [
      ...["put", "get", "findByName", "list", "editions", "remove", "expired", "labelKeys"],
      ...["labelValues", "dayCounts", "createdCounts", "noteBack", "noteLeft", "notedLive", "ping"],
      "close",
    ] as (keyof Archive)[];
    return Object.fromEntries(
      names.map((name) => [name, this[name].bind(this)]),
    ) as unknown as Archive;
  }

  #sorted(): ArchivedWorkflow[] {
    return [...this.rows.values()].sort((a, b) => comparePositions(positionOf(a), positionOf(b)));
  }
}
