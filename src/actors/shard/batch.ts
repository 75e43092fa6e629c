/**
 * Applies a batch of commands of one shard to its actors, in memory. Nobody sees any of it before the caller has committed
 * it. A command that makes an actor throw (a defect of ours) is taken out and refused, and its actor starts again from what
 * is stored, so that it harms no other command.
 */
import { Problem, ProblemCode } from "../../base/problem.ts";
import { NewerSchema } from "../../engine/codec.ts";
import type { ActorId, Lease } from "../../store/port.ts";
import { typeOf } from "../command_body.ts";
import type { ActorKind, HotEntry } from "../hot_actor.ts";
import { kindOf } from "../kinds.ts";
import type { ActorBatch, CommandOutcome, QueuedCommand } from "./actor_batch.ts";
import { applyCommands, type ApplyMode, Poisoned } from "./apply_commands.ts";
import { type BatchDeps, BatchEnv } from "./batch_env.ts";
import { type LargeTurn, SeveralLarge } from "../large_turn.ts";
import { loadActor, needsPartOnly, Unreadable } from "./load_actor.ts";
import { putAside } from "./put_aside.ts";
import { StoreTrouble } from "./store_trouble.ts";

/** How often in a row an actor may fail to be loaded or to go on, from what is stored, before it is put aside. */
const MAX_FAILURES = 3;

/**
 * Applies the commands in order. The actors stay pinned in the cache until the caller unpins them.
 *
 * @param suspects actors that must be looked for in the store even when a command says it makes them
 * @param turn of this batch, for an actor that is large
 * @throws {StoreTrouble} nothing was applied
 * @throws {SeveralLarge} nothing was applied
 */
export function applyBatch(
  lease: Lease,
  commands: QueuedCommand[],
  suspects: ReadonlySet<ActorId> | undefined,
  turn: LargeTurn,
  deps: BatchDeps,
): ActorBatch[] | Promise<ActorBatch[]> {
  const shared: Shared = { lease, suspects, turn, env: undefined, deps };
  const [first] = commands;
  // While there is little to do, nearly every batch has one command.
  if (first !== undefined && commands.length === 1) {
    const batch = applyToActor(first.actor, commands, shared);
    return batch instanceof Promise ? allOf([batch], [[first.actor, commands]], shared) : [batch];
  }
  const groups = groupByActor(commands);
  const batches: ActorBatch[] = [];
  let pending: (ActorBatch | Promise<ActorBatch>)[] | undefined;
  for (const [id, own] of groups) {
    const batch = applyToActor(id, own, shared);
    if (batch instanceof Promise) pending ??= [...batches];
    if (pending !== undefined) pending.push(batch);
    else batches.push(batch as ActorBatch);
  }
  return pending === undefined ? batches : allOf(pending, groups, shared);
}

/** An actor and its commands. */
type Group = [id: ActorId, commands: QueuedCommand[]];

function groupByActor(commands: QueuedCommand[]): Iterable<Group> {
  const byActor = new Map<ActorId, QueuedCommand[]>();
  for (const command of commands) {
    const own = byActor.get(command.actor);
    if (own) own.push(command);
    else byActor.set(command.actor, [command]);
  }
  return byActor;
}

/** All batches, once all are applied; if one fails, nothing was. */
async function allOf(
  pending: (ActorBatch | Promise<ActorBatch>)[],
  groups: Iterable<Group>,
  { deps, lease }: Shared,
): Promise<ActorBatch[]> {
  const settled = await Promise.allSettled(pending);
  const failed = settled.find((one) => one.status === "rejected");
  if (failed) {
    for (const [id] of groups) deps.cache.drop(id, lease);
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
  suspects: ReadonlySet<ActorId> | undefined;
  turn: LargeTurn;
  /** Made by the first actor that needs it. */
  env: BatchEnv | undefined;
  deps: BatchDeps;
}

/** At once, if the actor is in memory or new and nothing has to be waited for. Never throws. */
function applyToActor(
  id: ActorId,
  commands: QueuedCommand[],
  shared: Shared,
): ActorBatch | Promise<ActorBatch> {
  const { lease, suspects, deps } = shared;
  const [first] = commands;
  // With several commands, one of them may have been sent after a manifest was changed.
  const known = commands.length === 1 ? first?.manifests : undefined;
  const env = known === undefined ? shared.env ??= new BatchEnv(deps) : new BatchEnv(deps, known);
  const kind = kindOf(deps.kinds, id) ?? unknownKind;
  const isNew = first !== undefined && kind.creates(first.body) && suspects?.has(id) !== true;
  const isStepwise = false;
  const tries: Tries = {
    id,
    kind,
    commands,
    isNew,
    env,
    poison: undefined,
    isStepwise,
    failures: 0,
  };
  const entry = deps.cache.pin(id, lease);
  if (entry === undefined && !isNew) return applyInTries(tries, shared);
  const batch = emptyBatch(tries, entry);
  if (entry === undefined) deps.cache.add(id, lease, batch.entry);
  try {
    const applying = applyCommands(batch, tries, env, deps);
    if (applying === undefined) return batch;
    return applying.then(() => batch, (defect) => applyInTries(tries, shared, { batch, defect }));
  } catch (defect) {
    return applyInTries(tries, shared, { batch, defect });
  }
}

/** From what is stored. @param failed the first try, if it failed */
async function applyInTries(
  tries: Tries,
  shared: Shared,
  failed?: { batch: ActorBatch; defect: unknown },
): Promise<ActorBatch> {
  const { lease, turn, deps } = shared;
  const { id, kind, commands, env } = tries;
  for (let failure = failed;;) {
    if (failure !== undefined) {
      deps.cache.drop(id, lease);
      const last = await learnFrom(failure.defect, lease, failure.batch, tries, env, deps);
      if (last !== undefined) return last;
    }
    const batch = emptyBatch(tries);
    try {
      if (!tries.isNew || tries.poison !== undefined) {
        const left = commands.filter((command) => tries.poison?.has(command) !== true);
        batch.entry = await loadActor(lease.shard, id, kind, left, turn, deps);
      }
      deps.cache.add(id, lease, batch.entry);
      await applyCommands(batch, tries, env, deps);
      return batch;
    } catch (defect) {
      failure = { batch, defect };
    }
  }
}

/** Notes what the next try must do differently. Gives the batch when there is nothing left to try. */
async function learnFrom(
  defect: unknown,
  lease: Lease,
  batch: ActorBatch,
  tries: Tries,
  env: BatchEnv,
  deps: BatchDeps,
): Promise<ActorBatch | undefined> {
  if (defect instanceof StoreTrouble || defect instanceof SeveralLarge) throw defect;
  const { id, kind, commands } = batch;
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
    const aside = await putAside(lease, batch, cause, env, deps);
    if (aside !== undefined) return aside;
  }
  if (culprit) refuse(culprit);
  else if (tries.isStepwise) commands.forEach(refuse);
  else tries.isStepwise = true;
  return poison.size === commands.length ? refuseAll(batch, poison) : undefined;
}

function refuseAll(
  batch: ActorBatch,
  poison: ReadonlyMap<QueuedCommand, { error: unknown }>,
): ActorBatch {
  const { id, kind, commands } = batch;
  return {
    ...batch,
    entry: emptyEntry(kind, id),
    outcomes: commands.map((command) => poison.get(command) ?? { error: undefined }),
    changes: [],
    effects: [],
  };
}

function emptyEntry(kind: ActorKind, id: ActorId): HotEntry {
  return { actor: kind.hydrate(id, undefined), version: undefined };
}

function emptyBatch({ id, kind, commands }: Tries, entry = emptyEntry(kind, id)): ActorBatch {
  return {
    id,
    kind,
    commands,
    entry,
    outcomes: new Array<CommandOutcome>(commands.length),
    changes: [],
    effects: [],
    isRemoved: false,
    endsTasks: false,
  };
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
    take: () => ({ put: {}, drop: [], effects: [], needs: [] }),
    weight: () => 0,
    rests: () => true,
    isGrowing: () => false,
  }),
};
