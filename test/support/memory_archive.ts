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
  readonly #parameters: ReadonlySet<string>;

  constructor(parameters: readonly string[] = []) {
    this.#parameters = new Set(parameters);
  }

  put(rows: readonly ArchivedWorkflow[]): Promise<void> {
    for (const row of rows) {
      if ((this.rows.get(row.uid)?.edition ?? 0) <= row.edition) this.rows.set(row.uid, row);
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
    checkQuery(query, this.#parameters);
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
    return Promise.resolve();
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
      ...["labelValues", "dayCounts", "ping", "close"],
    ] as (keyof Archive)[];
    return Object.fromEntries(
      names.map((name) => [name, this[name].bind(this)]),
    ) as unknown as Archive;
  }

  #sorted(): ArchivedWorkflow[] {
    return [...this.rows.values()].sort((a, b) => comparePositions(positionOf(a), positionOf(b)));
  }
}
