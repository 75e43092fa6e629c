/**
 * Writes the commits of one ownership of a shard, each exactly once. Every commit carries a mark, and must find the mark of
 * the one before it. So when the store does not answer, the mark tells later whether the commit was written.
 */
import { isProblem, ProblemCode } from "../../base/problem.ts";
import type { Clock } from "../../platform/clock.ts";
import type { Ids } from "../../platform/ids.ts";
import type { Histogram } from "../../platform/metrics.ts";
import type { CommitResult, Lease, ShardCommit, ShardState, ShardStore } from "../../store/port.ts";
import { COMMIT_MARK } from "./outbox.ts";

export interface CommitterDeps {
  store: { shards: ShardStore };
  clock: Clock;
  ids: Ids;
  commitSeconds: Histogram;
}

export class Committer {
  readonly #shard: number;
  readonly #deps: CommitterDeps;
  /** What the marks of this ownership begin with. An epoch alone may come again when the store has lost its last writes. */
  readonly #markBase: string;
  #sequence = 0;
  /** Mark of the last commit. */
  #mark: string;
  #isDoubtful = false;

  constructor(lease: Lease, { outbox }: ShardState, deps: CommitterDeps) {
    this.#shard = lease.shard;
    this.#deps = deps;
    this.#markBase = `${lease.epoch}.${deps.ids.suffix(5)}`;
    this.#mark = outbox[COMMIT_MARK] ?? "";
  }

  /** True while nobody knows whether the last commit was written: the store did not answer. A refusal leaves no doubt. */
  get isDoubtful(): boolean {
    return this.#isDoubtful;
  }

  /**
   * Writes a commit; tries again while the store does not answer.
   *
   * @param pause waits before the next try, or rejects when there is to be none
   * @throws as `ShardStore.commit`, except for trouble
   */
  async commit(
    commit: ShardCommit,
    pause: (attempt: number, cause: unknown) => Promise<void>,
  ): Promise<CommitResult> {
    const { store, clock, commitSeconds } = this.#deps;
    const mark = `${this.#markBase}.${++this.#sequence}`;
    commit.outboxPut[COMMIT_MARK] = mark;
    commit.follows = { row: COMMIT_MARK, text: this.#mark };
    for (let attempt = 0;; attempt++) {
      try {
        let result = this.#isDoubtful ? await this.#findWritten(commit, mark) : undefined;
        if (result === undefined) {
          const startedAt = clock.monotonic();
          result = await store.shards.commit(commit);
          commitSeconds.observe((clock.monotonic() - startedAt) / 1000);
        }
        this.#isDoubtful = false;
        this.#mark = mark;
        return result;
      } catch (cause) {
        if (!isProblem(cause, ProblemCode.Unavailable)) throw cause;
        // What was refused leaves an earlier try as doubtful as it was.
        if (cause.mayBeDone) this.#isDoubtful = true;
        await pause(attempt, cause);
      }
    }
  }

  /**
   * What a doubtful commit came to, if it was written. Another mark proves nothing: the next owner may have written over
   * ours. Then only a commit that passes proves that the first try was lost.
   */
  async #findWritten(commit: ShardCommit, mark: string): Promise<CommitResult | undefined> {
    const { shards } = this.#deps.store;
    const state = await shards.loadShard(this.#shard);
    if (state.outbox[COMMIT_MARK] !== mark) return undefined;
    const versions: CommitResult["versions"] = {};
    await Promise.all(commit.actors.map(async ({ id, remove }) => {
      const stored = remove ? undefined : await shards.loadActor(this.#shard, id);
      if (stored) versions[id] = stored.version;
    }));
    return { versions };
  }
}
