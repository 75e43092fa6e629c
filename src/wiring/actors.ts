/** Puts together the host of the actors: workflows, and the locks that they share. */
import { parseWorkflowActorId } from "../actors/actor_ids.ts";
import { Host } from "../actors/host.ts";
import type { HostDeps } from "../actors/host_parts.ts";
import { locksKind } from "../actors/locks_actor.ts";
import { createDeadLettersKind } from "../actors/webhooks/dead_letters.ts";
import type { Webhooks } from "../actors/webhooks/webhooks.ts";
import { createWorkflowKind } from "../actors/workflow/actor.ts";
import { SpanRecovery } from "../actors/workflow/span_recovery.ts";
import type { Archive } from "../archive/port.ts";
import type { ArtifactStore } from "../artifacts/port.ts";
import type { Executor } from "../executors/port.ts";
import { systemIds } from "../platform/ids.ts";
import type { Traces } from "../platform/traces/span.ts";
import type { DeletedOwners } from "../service/deleted_owners.ts";
import { artifactCollector } from "./artifact_collector.ts";
import { namingOf, type ServerContext } from "./context.ts";
import type { Storage } from "./storage.ts";

/** How long a collector may take for spans before whoever sent them gives up, with some time to spare, ms. */
const UNSENT_MS = 15_000;

/** The host, not yet started. */
export function createHost(
  { config, log, metrics, replica, seat, traces, closing }: ServerContext,
  { store, clock }: Storage,
  { executor, artifacts, callbacks, webhooks, isKept, archive, about, deletedOwners }: {
    executor: Executor;
    artifacts: ArtifactStore;
    callbacks: NonNullable<HostDeps["callbacks"]>;
    webhooks: Webhooks;
    /** Tells whether a workflow with these labels stays in the archive when it is deleted. */
    isKept: (labels: Record<string, string>) => boolean;
    archive: Archive | undefined;
    about: NonNullable<HostDeps["about"]>;
    deletedOwners: DeletedOwners;
  },
): Host {
  const naming = namingOf(config);
  const spans = traces && new SpanRecovery({
    ...{ traces, store, clock, log, closing },
    shards: () => host.shards,
    windowMs: UNSENT_MS + traces.delayMs + 2 * config.leaseTtl,
  });
  const host: Host = new Host({
    store,
    executors: [executor],
    kinds: [
      createWorkflowKind({ naming, isKept, hasArchive: archive !== undefined, traces }),
      locksKind,
      createDeadLettersKind({
        maxCount: config.webhookDeadLetters,
        maxAgeMs: config.deliveryAge,
      }),
    ],
    spans,
    traceOf: traces && ((actor) => sampledTrace(traces, actor)),
    clock,
    ids: systemIds,
    log,
    metrics,
    collectArtifacts: artifactCollector(artifacts, log),
    ...(archive !== undefined && { forgetArchived: (uid: string) => archive.remove([uid]) }),
    beforeDeletion: (actor, uid) =>
      deletedOwners.noteEnding({ namespace: "", name: "", ...parseWorkflowActorId(actor), uid }),
    about,
    callbacks,
    webhooks,
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
  void spans?.run();
  return host;
}

function sampledTrace(traces: Traces, actor: string): string | undefined {
  const noted = traces.find(actor);
  return noted?.isSampled === true ? noted.traceId : undefined;
}
