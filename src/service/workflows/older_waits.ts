/** Workflows that wait since a program stored them that had no index of waits. */
import type { WorkflowHost } from "../../actors/port.ts";
import { isProblem, ProblemCode } from "../../base/problem.ts";
import type { Clock } from "../../platform/clock.ts";
import type { Logger } from "../../platform/log.ts";
import type { ListPage, Store } from "../../store/port.ts";
import { waitsIn } from "./waits.ts";

/** Blob that says that the store has no more of them. */
const MARK = "settings/waits-indexed";
const PAGE = { limit: 100, maxSize: 8 * 1024 * 1024 };
/** How long after a failure the next list begins the search again, ms. */
const PAUSE_MS = 60_000;

type ListItem = ListPage["items"][number];

export interface OlderWaitsDeps {
  store: Pick<Store, "blobs" | "query">;
  host: Pick<WorkflowHost, "execute">;
  clock: Pick<Clock, "monotonic">;
  log: Logger;
}

/** Looks for them when somebody first asks what waits, and has each of them write its index entry. */
export class OlderWaits {
  readonly #deps: OlderWaitsDeps;
  #search: Promise<void> | undefined;
  #notBefore = -Infinity;

  constructor(deps: OlderWaitsDeps) {
    this.#deps = deps;
  }

  /** Begins the search unless it is under way, or done. Who watches sees what is found. */
  begin(): void {
    const { clock, log } = this.#deps;
    if (clock.monotonic() < this.#notBefore) return;
    this.#search ??= this.#run().catch((cause) => {
      log.warn(
        { err: cause },
        "workflows that have waited since an earlier version are not listed yet",
      );
      this.#notBefore = clock.monotonic() + PAUSE_MS;
      this.#search = undefined;
    });
  }

  async #run(): Promise<void> {
    const { blobs, query } = this.#deps.store;
    if (await blobs.getBlob(MARK) !== undefined) return;
    let cursor: string | undefined;
    const failures: Error[] = [];
    do {
      const page = await query.list({
        kind: "wf",
        phases: ["Running"],
        ...PAGE,
        ...(cursor !== undefined && { continue: cursor }),
      });
      for (const item of page.items) {
        const failure = isMissed(item) ? await this.#reindex(item) : undefined;
        if (failure !== undefined) failures.push(failure);
      }
      cursor = page.continue;
    } while (cursor !== undefined);
    const [cause] = failures;
    if (cause !== undefined) {
      throw new Error(`${failures.length} workflows could not be indexed`, { cause });
    }
    await blobs.appendBlob(MARK, new Uint8Array(1), 1);
  }

  /** Why it must be tried again. @throws {Problem} Unavailable: the others could not be indexed either */
  async #reindex({ index: { namespace, name } }: ListItem): Promise<Error | undefined> {
    try {
      await this.#deps.host.execute(namespace, name, { type: "reindex" });
    } catch (error) {
      // It is gone meanwhile.
      if (isProblem(error, ProblemCode.NotFound)) return undefined;
      if (isProblem(error, ProblemCode.Unavailable)) throw error;
      return new Error(`workflow "${name}" in namespace ${namespace}`, { cause: error });
    }
    return undefined;
  }
}

function isMissed({ index, parts }: ListItem): boolean {
  return index.waitsSince === undefined && waitsIn(parts).length > 0;
}
