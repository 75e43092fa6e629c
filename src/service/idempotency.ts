/** The `Idempotency-Key` of a request: requests with the same key and body get the same answer and have one effect. */
import { hashText, mix } from "../actors/actor_ids.ts";
import type { ExecuteOptions } from "../actors/port.ts";
import { withVersion } from "../actors/workflow/stored_view.ts";
import type { Caller } from "../auth/port.ts";
import { Problem, ProblemCode } from "../base/problem.ts";
import type { Workflow } from "../spec/manifest.ts";
import { requireAccess } from "./access.ts";
import type { ServiceDeps } from "./deps.ts";
import { WORKFLOW } from "./kinds.ts";

export interface Idempotency {
  key: string;
  /** Digest of the request. A request with the same key and another digest is refused. */
  fingerprint: string;
  /** How long the answer is kept. @default 24 h */
  ttlMs?: number;
}

const NO_OPTIONS: ExecuteOptions = Object.freeze({});

/** Options of a command that carries an idempotency key. */
export function executeOptions(idempotency: Idempotency | undefined): ExecuteOptions {
  return idempotency === undefined ? NO_OPTIONS : { idempotency };
}

/** Numbers in [0, 1) that are the same for each request with this key; undefined without a key. */
export function fractionsOf(idempotency: Idempotency | undefined): (() => number) | undefined {
  if (idempotency === undefined) return undefined;
  let state = hashText(idempotency.key);
  return () => {
    state = (state + 0x9e3779b9) >>> 0;
    return mix(state) / 2 ** 32;
  };
}

/** How a creation is refused when something that it needs is not there, or does not fit any more. */
const REFUSALS: readonly ProblemCode[] = [
  ProblemCode.NotFound,
  ProblemCode.InvalidArgument,
  ProblemCode.FailedPrecondition,
];

/**
 * Makes a workflow. A repeat gets the first answer also if what the first one was made from is gone by now, so that it never came to
 * the owner of the shard, who keeps the answer.
 * @throws {unknown} what `make` throws when there was no first one
 */
export async function orFirstAnswer(
  { store, host }: Pick<ServiceDeps, "store" | "host">,
  caller: Caller,
  idempotency: Idempotency | undefined,
  make: () => Promise<Workflow>,
): Promise<Workflow> {
  if (idempotency === undefined) return await make();
  try {
    return await make();
  } catch (error) {
    if (!(error instanceof Problem) || !REFUSALS.includes(error.code)) throw error;
    const { key, fingerprint } = idempotency;
    // Its name may follow from what is gone, so nobody knows in which shard it is.
    const shards = Array.from({ length: host.shards }, (_, shard) => shard);
    const found = await Promise.all(shards.map((one) => store.shards.findAnswers(one, [key])));
    const first = found.map((answers) => answers[key]).find((one) =>
      one?.fingerprint === fingerprint
    );
    if (first === undefined) throw error;
    const { answer, version } = first;
    const kept = answer as unknown as Workflow;
    const workflow = version === undefined ? kept : withVersion(kept, version);
    const { namespace = "" } = workflow.metadata;
    await requireAccess(caller, { verb: "create", resource: WORKFLOW.resource, namespace });
    return workflow;
  }
}
