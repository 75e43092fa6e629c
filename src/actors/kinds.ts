/** Finds the kind of an actor by its id, and makes a stored answer what its first sender heard. */
import type { ActorId, Answer } from "../store/port.ts";
import type { ActorKind } from "./hot_actor.ts";

/** The kind of an actor; undefined for kinds that only a newer program knows. */
export function kindOf(kinds: readonly ActorKind[], id: ActorId): ActorKind | undefined {
  return kinds.find(({ prefix }) => id.startsWith(prefix));
}

/** A stored answer as its first sender heard it, with the version of its commit. */
export function keptAnswer(
  kinds: readonly ActorKind[],
  id: ActorId,
  { answer, version }: Answer,
): object {
  const answers = kindOf(kinds, id)?.answers;
  return version === undefined || !answers
    ? answer as object
    : answers.withVersion(answer, version);
}
