/** Removes artifacts that nobody needs any more. */
import { namespaceOf } from "../actors/actor_ids.ts";
import type { HostDeps } from "../actors/host_parts.ts";
import { locationOf } from "../artifacts/location.ts";
import type { ArtifactStore } from "../artifacts/port.ts";
import { defined } from "../base/defined.ts";
import { isProblem, ProblemCode } from "../base/problem.ts";
import type { Logger } from "../platform/log.ts";

/** What removes artifacts. It rejects while the server's own repository cannot be reached. */
export function artifactCollector(
  artifacts: Pick<ArtifactStore, "remove">,
  log: Pick<Logger, "warn">,
): NonNullable<HostDeps["collectArtifacts"]> {
  return async (actor, { artifacts: unwanted, repositoryRef, formerKeys }) => {
    const namespace = namespaceOf(actor);
    const scope = { namespace, ...defined({ repositoryRef, formerKeys }) };
    for (const artifact of unwanted) {
      try {
        await artifacts.remove(artifact, scope);
      } catch (cause) {
        // Ours is tried again. A bucket that a manifest names may never be there: what is in it stays, and the log says so.
        const isAway = isProblem(cause, ProblemCode.Unavailable) && repositoryRef === undefined;
        if (isAway && locationOf(artifact)?.type === "repository") throw cause;
        log.warn({ actor, artifact: artifact.name, err: cause }, "artifact could not be removed");
      }
    }
  };
}
