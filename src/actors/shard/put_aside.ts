/** Ends an actor that cannot go on, so that it fails only once and harms no other. */
import { partsByKey } from "../../base/part_text.ts";
import { errorText } from "../../base/error_text.ts";
import { Problem, ProblemCode } from "../../base/problem.ts";
import type { EngineEnv } from "../../engine/engine.ts";
import type { ActorId, Lease } from "../../store/port.ts";
import type { ActorKind, HotEntry } from "../hot_actor.ts";
import type { ActorBatch, QueuedCommand } from "./actor_batch.ts";
import type { BatchDeps } from "./batch_env.ts";
import { readActor } from "./load_actor.ts";

/** Puts an actor aside and refuses its commands. Undefined when nothing of it is stored, or its kind cannot do that. */
export async function putAside(
  lease: Lease,
  { id, kind, commands }: { id: ActorId; kind: ActorKind; commands: QueuedCommand[] },
  cause: unknown,
  env: EngineEnv,
  deps: BatchDeps,
): Promise<ActorBatch | undefined> {
  const stored = await readActor(lease.shard, id, deps);
  if (stored === undefined || kind.putAside === undefined) return undefined;
  const reason = errorText(cause);
  const { put, drop, index, effects } = kind.putAside(id, stored, reason, env);
  deps.log.error({ actor: id, err: cause }, "actor put aside");
  const { version } = stored;
  const actor = kind.hydrate(id, { ...stored, parts: { ...stored.parts, ...partsByKey(put) } });
  const entry: HotEntry = { actor, version };
  deps.cache.add(id, lease, entry);
  const refusal = new Problem(
    ProblemCode.FailedPrecondition,
    `The workflow was put aside: ${reason}`,
  );
  return {
    id,
    kind,
    commands,
    entry,
    outcomes: commands.map(({ body }) =>
      kind.mayRefuse?.(body) === false ? { answer: undefined } : { error: refusal }
    ),
    changes: [{
      id,
      put,
      drop,
      ...(index !== undefined && { index }),
      ...(kind.silent && { silent: true as const }),
    }],
    effects,
    isRemoved: false,
    endsTasks: false,
    isAside: true,
  };
}
