/**
 * Applies a batch of commands of one shard to its actors, in memory. Nobody sees any of it before the caller has committed
 * it. A command that makes an actor throw (a defect of ours) is taken out and refused, and its actor starts again from what
 * is stored, so that it harms no other command.
 */
import { Problem, ProblemCode } from "../../base/problem.ts";
import { NewerSchema } from "../../engine/codec.ts";
import type { ActorId, Lease } from "../../store/port.ts";
import { typeOf } from "../command_body.ts";
import type { ActorKind } from "../hot_actor.ts";
import { kindOf } from "../kinds.ts";
import type { ActorBatch, QueuedCommand } from "./actor_batch.ts";
import { applyCommands, type ApplyMode, Poisoned } from "./apply_commands.ts";
import { type BatchDeps, BatchEnv } from "./batch_env.ts";
import { ChangeDraft } from "./change_draft.ts";
import { type LargeTurn, TurnTaken } from "../large_turn.ts";
import { loadActor, needsPartOnly, Unreadable } from "./load_actor.ts";
import { putAside } from "./put_aside.ts";
import { StoreTrouble } from "./store_trouble.ts";

/** How often in a row an actor may fail to be loaded or to go on, from what is stored, before it is put aside. */
const MAX_FAILURES = 3;

/**
 * Applies the commands in order, those of different actors side by side. The actors stay pinned in the cache until the caller
 * unpins them.
 *
 * @param suspects actors that must be looked for in the store even when a command says it makes them
 * @param turn of this batch, for an actor that is large
 * @throws {StoreTrouble} nothing was applied
 * @throws {TurnTaken} nothing was applied
 */
export function applyBatch(
  lease: Lease,
  commands: QueuedCommand[],
  suspects: readonly ActorId[],
  turn: LargeTurn,
  deps: BatchDeps,
): ActorBatch[] | Promise<ActorBatch[]> {
  const shared: Shared = { lease, suspects, turn, env: undefined, deps };
  const groups = commands.length === 1
    ? [commands]
    : Map.groupBy(commands, ({ actor }) => actor).values();
  const batches: (ActorBatch | Promise<ActorBatch>)[] = [];
  let isWaiting = false;
  for (const own of groups) {
    const batch = applyToActor(own, shared);
    isWaiting ||= batch instanceof Promise;
    batches.push(batch);
  }
  return isWaiting ? allOf(batches, commands, shared) : batches as ActorBatch[];
}

/** All batches, once all are applied; if one fails, nothing was. */
async function allOf(
  batches: (ActorBatch | Promise<ActorBatch>)[],
  commands: QueuedCommand[],
  { deps, lease }: Shared,
): Promise<ActorBatch[]> {
  const settled = await Promise.allSettled(batches);
  const failed = settled.find((one) => one.status === "rejected");
  if (failed) {
    for (const { actor } of commands) deps.cache.drop(actor, lease);
    throw failed.reason;
  }
  return settled.flatMap((one) => one.status === "fulfilled" ? [one.value] : []);
}

/** What is done with one actor, and what the tries so far have shown for the next one. */
interface Tries extends ApplyMode {
  id: ActorId;
  kind: ActorKind;
  commands: QueuedCommand[];
  /** Its first command makes it. */
  isNew: boolean;
  env: BatchEnv;
  poison: Map<QueuedCommand, { error: unknown }> | undefined;
  /** Tries for whose failure no command could be refused. */
  failures: number;
}

/** What the actors of a batch share. */
interface Shared {
  lease: Lease;
  suspects: readonly ActorId[];
  turn: LargeTurn;
  /** Made by the first actor that needs it. */
  env: BatchEnv | undefined;
  deps: BatchDeps;
}

/** At once, if the actor is in memory or new and nothing has to be waited for. Never throws. */
function applyToActor(
  commands: QueuedCommand[],
  shared: Shared,
): ActorBatch | Promise<ActorBatch> {
  const { lease, suspects, deps } = shared;
  const [first] = commands as [QueuedCommand];
  const { actor: id, body, manifests } = first;
  // With several commands, one of them may have been sent after a manifest was changed.
  const env = commands.length === 1 && manifests !== undefined
    ? new BatchEnv(deps, manifests)
    : shared.env ??= new BatchEnv(deps);
  const kind = kindOf(deps.kinds, id) ?? unknownKind;
  const isNew = kind.creates(body) && !suspects.includes(id);
  const tries: Tries = {
    id,
    kind,
    commands,
    isNew,
    env,
    poison: undefined,
    isStepwise: false,
    failures: 0,
  };
  const entry = deps.cache.pin(id, lease);
  if (entry === undefined && !isNew) return applyInTries(tries, shared);
  const draft = new ChangeDraft(id, kind, commands, entry);
  if (entry === undefined) deps.cache.add(id, lease, draft.entry);
  try {
    const applying = applyCommands(draft, tries, env, deps);
    if (applying === undefined) return draft;
    return applying.then(() => draft, (defect) => applyInTries(tries, shared, { defect }));
  } catch (defect) {
    return applyInTries(tries, shared, { defect });
  }
}

/** From what is stored. @param failed why the first try failed, if there was one */
async function applyInTries(
  tries: Tries,
  shared: Shared,
  failed?: { defect: unknown },
): Promise<ActorBatch> {
  const { lease, turn, deps } = shared;
  const { id, kind, commands, env } = tries;
  for (let failure = failed;;) {
    if (failure !== undefined) {
      deps.cache.drop(id, lease);
      const last = await learnFrom(failure.defect, lease, tries, deps);
      if (last !== undefined) return last;
    }
    try {
      const left = commands.filter((command) => tries.poison?.has(command) !== true);
      const entry = tries.isNew && tries.poison === undefined
        ? undefined
        : await loadActor(lease.shard, id, kind, left, turn, deps);
      const draft = new ChangeDraft(id, kind, commands, entry);
      deps.cache.add(id, lease, draft.entry);
      await applyCommands(draft, tries, env, deps);
      return draft;
    } catch (defect) {
      failure = { defect };
    }
  }
}

/** Notes what the next try must do differently. Gives the batch when there is nothing left to try. */
async function learnFrom(
  defect: unknown,
  lease: Lease,
  tries: Tries,
  deps: BatchDeps,
): Promise<ActorBatch | undefined> {
  if (defect instanceof StoreTrouble || defect instanceof TurnTaken) throw defect;
  const { id, kind, commands, env } = tries;
  const poison = tries.poison ?? new Map<QueuedCommand, { error: unknown }>();
  const refuse = (one: QueuedCommand) => (tries.poison = poison).set(one, { error: cause });
  const culprit = defect instanceof Poisoned ? defect.command : undefined;
  const cause = defect instanceof Poisoned ? defect.cause : defect;
  deps.log.error({ actor: id, command: typeOf(culprit?.body), err: cause }, "actor failed");
  if (cause instanceof Unreadable && commands.some((one) => needsPartOnly(kind, one))) {
    for (const one of commands) if (!needsPartOnly(kind, one)) refuse(one);
    return undefined;
  }
  const isRefusable = culprit !== undefined && kind.mayRefuse?.(culprit.body) !== false;
  const isNewer = cause instanceof Unreadable && cause.cause instanceof NewerSchema;
  if (kind.putAside !== undefined && !isNewer && !isRefusable) {
    tries.isStepwise = true;
    if (++tries.failures < MAX_FAILURES) return undefined;
    const aside = await putAside(lease, tries, cause, env, deps);
    if (aside !== undefined) return aside;
  }
  if (culprit) refuse(culprit);
  else if (tries.isStepwise) commands.forEach(refuse);
  else tries.isStepwise = true;
  if (poison.size < commands.length) return undefined;
  const refused = new ChangeDraft(id, kind, commands);
  for (const command of commands) refused.outcomes.push(poison.get(command) ?? { error: cause });
  return refused;
}

/** Stands in for kinds that only a newer program knows, so that their commands are refused and harm nobody. */
const unknownKind: ActorKind = {
  prefix: "",
  silent: true,
  creates: () => true,
  hydrate: (id) => ({
    id,
    exists: () => false,
    receive() {
      throw new Problem(ProblemCode.Unimplemented, `This version knows no actor "${id}"`);
    },
    advance() {},
    take: () => ({ put: [], drop: [], effects: [], needs: [] }),
    weight: () => 0,
    rests: () => true,
    isGrowing: () => false,
  }),
};
