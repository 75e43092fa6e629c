/**
 * Transfers of artifacts, shared fairly between namespaces: a server that never answers (a bucket, a git repository, a URL
 * that a manifest names) holds up the transfers of its namespace, and nobody else's. Streams that a client reads or writes
 * are bound to the client's connection, and are not counted.
 */
import { FairLimiter } from "../platform/fair_limiter.ts";
import type { ArtifactStore } from "./port.ts";

/** Transfers at once in one replica. */
const MAX_TRANSFERS = 64;

/** The same store, with so many transfers at once. */
export function shareFairly(store: ArtifactStore, limit: number = MAX_TRANSFERS): ArtifactStore {
  const transfers = new FairLimiter(limit);
  return {
    check: (artifact, scope) => store.check(artifact, scope),
    fetch: (artifact, path, scope) =>
      transfers.run(scope.namespace, () => store.fetch(artifact, path, scope)),
    save: (artifact, path, prefix, scope) =>
      transfers.run(scope.namespace, () => store.save(artifact, path, prefix, scope)),
    list: (artifact, scope) => transfers.run(scope.namespace, () => store.list(artifact, scope)),
    entries: (artifact, scope) =>
      transfers.run(scope.namespace, () => store.entries(artifact, scope)),
    remove: (artifact, scope) =>
      transfers.run(scope.namespace, () => store.remove(artifact, scope)),
    open: (artifact, scope) => store.open(artifact, scope),
    write: (artifact, body, scope) => store.write(artifact, body, scope),
  };
}
