/**
 * Notes in the archive of workflows that have left the store long ago: a replica died before it could take them away. They
 * harm nobody, but every count asks for them.
 */
import type { Archive } from "../../archive/port.ts";
import type { WorkflowHost } from "../../actors/port.ts";
import type { Clock } from "../../platform/clock.ts";
import type { Store } from "../../store/port.ts";
import { notedLive } from "../../archive/noted_live.ts";

/** Time between two sweeps, ms. Whoever brings a workflow back needs less for it. */
const EVERY_MS = 600_000;

interface Deps {
  /** Without the archive. */
  store: Pick<Store, "query">;
  archive: Pick<Archive, "notedLive" | "noteLeft">;
  host: Pick<WorkflowHost, "owns">;
  clock: Pick<Clock, "monotonic">;
}

export class StaleNotes {
  readonly #deps: Deps;
  /** Those that the store did not have at the last sweep: perhaps they were on their way back. */
  #suspects: ReadonlySet<string> = new Set();
  #sweptAt = -Infinity;

  constructor(deps: Deps) {
    this.#deps = deps;
  }

  /** Takes notes away of which two sweeps have found that they are wrong; those of this replica's shards. */
  async sweep(): Promise<void> {
    const { clock, archive } = this.#deps;
    if (clock.monotonic() - this.#sweptAt < EVERY_MS) return;
    this.#sweptAt = clock.monotonic();
    const suspects = new Set<string>();
    for await (const page of notedLive(archive)) {
      const gone: string[] = [];
      for (
        const { uid } of page.filter(({ namespace, name }) => this.#deps.host.owns(namespace, name))
      ) {
        if (await this.#deps.store.query.findByUid(uid) !== undefined) continue;
        if (this.#suspects.has(uid)) gone.push(uid);
        else suspects.add(uid);
      }
      if (gone.length > 0) await archive.noteLeft(gone, true);
    }
    this.#suspects = suspects;
  }
}
