/** Puts together the host of the actors: workflows, and the locks that they share. */
import { namespaceOf } from "../actors/actor_ids.ts";
import { Host, type HostDeps } from "../actors/host.ts";
import { locksKind } from "../actors/locks_actor.ts";
import { createWorkflowKind } from "../actors/workflow/actor.ts";
import type { Archive } from "../archive/port.ts";
import type { ArtifactStore } from "../artifacts/port.ts";
import { defined } from "../base/defined.ts";
import { Problem } from "../base/problem.ts";
import type { Executor } from "../executors/port.ts";
import { systemIds } from "../platform/ids.ts";
import type { Logger } from "../platform/log.ts";
import { namingOf, type ServerContext } from "./context.ts";
import type { Storage } from "./storage.ts";

/** The host, not yet started. */
export function createHost(
  { config, log, metrics, replica, seat }: ServerContext,
  { store, clock }: Storage,
  { executor, artifacts, callbacks, isKept, archive, about }: {
    executor: Executor;
    artifacts: ArtifactStore;
    callbacks: NonNullable<HostDeps["callbacks"]>;
    /** Tells whether a workflow with these labels stays in the archive when it is deleted. */
    isKept: (labels: Record<string, string>) => boolean;
    archive: Archive | undefined;
    about: NonNullable<HostDeps["about"]>;
  },
): Host {
  const naming = namingOf(config);
  return new Host({
    store,
    executors: [executor],
    kinds: [createWorkflowKind({ naming, isKept, hasArchive: archive !== undefined }), locksKind],
    clock,
    ids: systemIds,
    log,
    metrics,
    collectArtifacts: artifactCollector(artifacts, log),
    ...(archive !== undefined && { forgetArchived: (uid: string) => archive.remove([uid]) }),
    about,
    callbacks,
    ...(seat !== undefined && { neighbours: seat.link }),
  }, {
    replica,
    shards: config.shards,
    leaseTtlMs: config.leaseTtl,
    hotActors: config.hotActors,
    taskStarts: config.taskStarts,
    naming,
    artifactKeys: config.artifactKeys,
    limits: { nodes: config.maxNodes, bytes: config.maxWorkflowBytes },
  });
}

/** Removes artifacts that nobody needs any more. Rejects while their store cannot be reached. */
function artifactCollector(
  artifacts: ArtifactStore,
  log: Logger,
): NonNullable<HostDeps["collectArtifacts"]> {
  return async (actor, { artifacts: unwanted, repositoryRef, formerKeys }) => {
    const namespace = namespaceOf(actor);
    const scope = { namespace, ...defined({ repositoryRef, formerKeys }) };
    for (const artifact of unwanted) {
      try {
        await artifacts.remove(artifact, scope);
      } catch (cause) {
        // A store that cannot be reached now is tried again. What cannot be removed at all stays, and the log says so.
        if (cause instanceof Problem && cause.status === 503) throw cause;
        log.warn({ actor, artifact: artifact.name, err: cause }, "artifact could not be removed");
      }
    }
  };
}
