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
import type { ActorBatch, QueuedCommand } from "./actor_batch.ts";
import { applyCommands, type ApplyMode, Poisoned } from "./apply_commands.ts";
import { type BatchDeps, type BatchEnv, createBatchEnv } from "./batch_env.ts";
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
export async function applyBatch(
  lease: Lease,
  commands: QueuedCommand[],
  suspects: ReadonlySet<ActorId>,
  turn: LargeTurn,
  deps: BatchDeps,
): Promise<ActorBatch[]> {
  const batch: Shared = { lease, suspects, turn, env: undefined, deps };
  const [only] = commands;
  // While there is little to do, nearly every batch has one command.
  if (only !== undefined && commands.length === 1) {
    try {
      return [await applyToActor(only.actor, commands, batch)];
    } catch (cause) {
      deps.cache.drop(only.actor, lease);
      throw cause;
    }
  }
  const byActor = new Map<ActorId, QueuedCommand[]>();
  const batches: Promise<ActorBatch>[] = [];
  for (const command of commands) {
    const own = byActor.get(command.actor);
    if (own) own.push(command);
    else byActor.set(command.actor, [command]);
  }
  for (const [id, own] of byActor) batches.push(applyToActor(id, own, batch));
  const settled = await Promise.allSettled(batches);
  const failed = settled.find((one) => one.status === "rejected");
  if (failed) {
    for (const id of byActor.keys()) deps.cache.drop(id, lease);
    throw failed.reason;
  }
  return settled.flatMap((one) => one.status === "fulfilled" ? [one.value] : []);
}

/** What the tries so far have shown, for the next one. */
interface Tries extends ApplyMode {
  poison: Map<QueuedCommand, unknown>;
  /** Tries for whose failure no command could be refused. */
  failures: number;
}

/** What the actors of a batch share. */
interface Shared {
  lease: Lease;
  suspects: ReadonlySet<ActorId>;
  turn: LargeTurn;
  /** Made by the first actor that needs it. */
  env: BatchEnv | undefined;
  deps: BatchDeps;
}

async function applyToActor(
  id: ActorId,
  commands: QueuedCommand[],
  shared: Shared,
): Promise<ActorBatch> {
  const { lease, suspects, turn, deps } = shared;
  // With several commands, one of them may have been sent after a manifest was changed.
  const known = commands.length === 1 ? commands[0]?.manifests : undefined;
  const env = known === undefined
    ? shared.env ??= createBatchEnv(deps)
    : createBatchEnv(deps, known);
  const kind = kindOf(deps.kinds, id) ?? unknownKind;
  const isNew = commands[0] !== undefined && kind.creates(commands[0].body) && !suspects.has(id);
  const tries: Tries = { poison: new Map(), isStepwise: false, failures: 0 };
  let entry = deps.cache.pin(id, lease);
  for (;;) {
    const batch = emptyBatch(id, kind, commands, entry ?? emptyEntry(kind, id));
    try {
      if (!entry) {
        if (!isNew || tries.poison.size > 0) {
          const left = commands.filter((command) => !tries.poison.has(command));
          batch.entry = await loadActor(lease.shard, id, kind, left, turn, deps);
        }
        deps.cache.add(id, lease, batch.entry);
      }
      await applyCommands(batch, tries, env, deps);
      return batch;
    } catch (defect) {
      deps.cache.drop(id, lease);
      entry = undefined;
      const last = await learnFrom(defect, lease, batch, tries, env, deps);
      if (last !== undefined) return last;
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
  const { poison } = tries;
  const culprit = defect instanceof Poisoned ? defect.command : undefined;
  const cause = defect instanceof Poisoned ? defect.cause : defect;
  deps.log.error({ actor: id, command: typeOf(culprit?.body), err: cause }, "actor failed");
  if (cause instanceof Unreadable && commands.some((one) => needsPartOnly(kind, one))) {
    for (const one of commands) if (!needsPartOnly(kind, one)) poison.set(one, cause);
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
  if (culprit) poison.set(culprit, cause);
  else if (tries.isStepwise) { for (const one of commands) poison.set(one, cause); }
  else tries.isStepwise = true;
  return poison.size === commands.length ? refuseAll(batch, poison) : undefined;
}

function refuseAll(
  batch: ActorBatch,
  poison: ReadonlyMap<QueuedCommand, unknown>,
): ActorBatch {
  const { id, kind, commands } = batch;
  return {
    ...batch,
    entry: emptyEntry(kind, id),
    outcomes: new Map(commands.map((command) => [command, { error: poison.get(command) }])),
    changes: [],
    effects: [],
  };
}

function emptyEntry(kind: ActorKind, id: ActorId): HotEntry {
  return { actor: kind.hydrate(id, undefined), version: undefined };
}

function emptyBatch(
  id: ActorId,
  kind: ActorKind,
  commands: QueuedCommand[],
  entry: HotEntry,
): ActorBatch {
  return {
    id,
    kind,
    commands,
    entry,
    outcomes: new Map(),
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
