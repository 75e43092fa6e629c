/**
 * Shares the transfers of artifacts fairly between namespaces. A server that a manifest names (a bucket, a git repository, a
 * URL) and that never answers holds up only its own namespace. Streams that a client reads or writes are not counted: they
 * end with the client's connection.
 */
import { FairLimiter } from "../platform/fair_limiter.ts";
import type { ArtifactStore } from "./port.ts";

/** Most transfers at once in one replica. */
const MAX_TRANSFERS = 64;

/** The same store, with a bounded number of transfers at once. */
export function shareFairly(store: ArtifactStore): ArtifactStore {
  const transfers = new FairLimiter(MAX_TRANSFERS);
  return {
    check: (artifact, scope) => store.check(artifact, scope),
    fetch: (artifact, path, scope, signal) =>
      transfers.run(
        scope.namespace,
        () => store.fetch(artifact, path, scope, signal),
        signal,
      ),
    save: (artifact, path, prefix, scope, signal) =>
      transfers.run(
        scope.namespace,
        () => store.save(artifact, path, prefix, scope, signal),
        signal,
      ),
    list: (artifact, scope, signal) =>
      transfers.run(scope.namespace, () => store.list(artifact, scope, signal)),
    entries: (artifact, scope) =>
      transfers.run(scope.namespace, () => store.entries(artifact, scope)),
    remove: (artifact, scope) =>
      transfers.run(scope.namespace, () => store.remove(artifact, scope)),
    absence: (artifact, scope) => store.absence(artifact, scope),
    open: (artifact, scope) => store.open(artifact, scope),
    write: (artifact, body, scope) => store.write(artifact, body, scope),
  };
}
