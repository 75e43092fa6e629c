/** Brings an actor into memory, all of it or as much as its commands need. */
import { errorText } from "../../base/error_text.ts";
import { Problem, ProblemCode } from "../../base/problem.ts";
import type { ActorId, LoadBounds, StoredActor } from "../../store/port.ts";
import { namespaceOf } from "../actor_ids.ts";
import type { ActorKind, HotEntry } from "../hot_actor.ts";
import { type LargeTurn, SMALL_ACTOR } from "../large_turn.ts";
import type { QueuedCommand } from "./actor_batch.ts";
import type { BatchDeps } from "./batch_env.ts";
import { StoreTrouble } from "./store_trouble.ts";

/** An actor with more parts is hydrated in turns. */
const PARTS_AT_ONCE = 1_000;

/** What is stored of an actor cannot be read: only commands that need a part of it can be carried out. */
export class Unreadable extends Problem {
  constructor(id: ActorId, cause: unknown) {
    super(
      ProblemCode.FailedPrecondition,
      `"${id}" cannot be read from the store (${
        errorText(cause)
      }): it can only be terminated or deleted`,
      { cause },
    );
  }
}

/**
 * Loads an actor for some commands: a part of it where that is enough for all of them.
 *
 * @throws {StoreTrouble}
 * @throws {Unreadable}
 * @throws {TurnTaken}
 */
export async function loadActor(
  shard: number,
  id: ActorId,
  kind: ActorKind,
  commands: QueuedCommand[],
  turn: LargeTurn,
  deps: BatchDeps,
): Promise<HotEntry> {
  const needPartOnly = commands.every((command) => needsPartOnly(kind, command));
  const bounds = needPartOnly ? kind.enough?.(commands[0]?.body ?? null) : undefined;
  const stored = bounds === undefined
    ? await readWhole(shard, id, turn, deps)
    : await readActor(shard, id, deps, bounds);
  const version = stored?.version;
  if (stored?.withoutNodes === true && kind.hydrateBare) {
    return { actor: kind.hydrateBare(stored), version };
  }
  if (deps.share.isTired) await deps.share.rest();
  try {
    const isLarge = stored !== undefined && Object.keys(stored.parts).length > PARTS_AT_ONCE;
    const actor = isLarge && kind.hydrateInTurns
      ? await deps.share.runInTurns(kind.hydrateInTurns(stored))
      : deps.share.run(() => kind.hydrate(id, stored));
    return { actor, version };
  } catch (cause) {
    if (needPartOnly && stored && kind.hydrateBare) {
      return { actor: kind.hydrateBare(stored, cause), version };
    }
    throw new Unreadable(id, cause);
  }
}

/** All that is stored of an actor; of a large one when its turn has come. */
async function readWhole(
  shard: number,
  id: ActorId,
  turn: LargeTurn,
  deps: BatchDeps,
): Promise<StoredActor | undefined> {
  const stored = await readActor(shard, id, deps, SMALL_ACTOR);
  if (stored?.withoutNodes !== true) return stored;
  turn.take(id);
  return await readActor(shard, id, deps);
}

/** What is stored of an actor. @throws {StoreTrouble} */
export async function readActor(
  shard: number,
  id: ActorId,
  { loads, store }: BatchDeps,
  bounds?: LoadBounds,
): Promise<StoredActor | undefined> {
  return await loads.run(namespaceOf(id), () => store.shards.loadActor(shard, id, bounds)).catch(
    (cause) => {
      throw new StoreTrouble(cause);
    },
  );
}

/** Tells whether a command can be carried out when only a part of its actor is known. */
export function needsPartOnly(kind: ActorKind, { body }: QueuedCommand): boolean {
  return kind.enough?.(body) !== undefined;
}
