/** How the deployment is: replicas, shards, store, queue of events. For those who run it. */
import type { Caller } from "../auth/port.ts";
import { defined } from "../base/defined.ts";
import { Problem } from "../base/problem.ts";
import { requireAccess } from "./access.ts";
import type { ServiceDeps } from "./deps.ts";
import { queueBound } from "./events/intake.ts";
import { SYSTEM } from "./kinds.ts";
import type { SystemFacts } from "./system_facts.ts";

/** Settings that only this page of facts needs. */
export interface SystemSettings {
  /** Where everything is kept: `memory`, `sqlite`, `redis`. */
  store: string;
  /** What `--durability` asks for. */
  durability: string;
}

/** @throws {Problem} PermissionDenied unless the caller may `get` the resource `system` over all namespaces */
export async function getSystem(deps: ServiceDeps, caller: Caller): Promise<SystemFacts> {
  await requireAccess(caller, { verb: "get", resource: SYSTEM.resource, namespace: "" });
  return await deps.system();
}

/** Looks how the deployment is. A store that does not answer is part of the answer. */
export async function readSystem(
  deps: Pick<ServiceDeps, "host" | "store" | "clock" | "settings">,
  { store: kind, durability }: SystemSettings,
): Promise<SystemFacts> {
  const { host, store, clock, settings } = deps;
  const askedAt = clock.monotonic();
  const ping = store.ping().then(
    () => ({ answeredAfterMs: Math.round(clock.monotonic() - askedAt) }),
    (error: unknown) => ({ trouble: error instanceof Problem ? error.message : String(error) }),
  );
  const [replicas, answer, queued] = await Promise.all([
    host.survey(),
    ping,
    store.events.depth().catch(() => undefined),
  ]);
  return {
    version: settings.build.version,
    shards: host.shards,
    replicas,
    store: {
      kind,
      durability: { asked: durability, promised: store.durability?.() ?? "unknown" },
      ...answer,
    },
    events: {
      capacity: queueBound(deps),
      ...defined({ queued }),
    },
  };
}
