/**
 * Commands for shards of replicas on the same machine: they go there directly and not through the mailbox. The owner takes
 * them as it takes its own, with a receipt in the commit, so that a lost answer is found.
 */
import type { Json } from "../base/json.ts";
import type { Clock } from "../platform/clock.ts";
import type { Command } from "../store/port.ts";
import type { OwnedShards } from "./owned_shards.ts";
import { encodeResult, Moved } from "./result.ts";

/** Replicas on the same machine, by their names. */
export interface Neighbours {
  /**
   * Asks one of them; false, and nothing is sent, when there is none of this name.
   *
   * @param hear gets the answer; undefined: the question may or may not have arrived
   */
  ask(replica: string, question: Json, hear: (answer: Json | undefined) => void): boolean;
  /** @param take answers their questions, each once */
  serve(take: (question: Json, answer: (answer: Json) => void) => void): void;
  /** @param hear hears the name of one that has ended, however it did */
  onGone(hear: (replica: string) => void): void;
}

/** Says in place of a result that the command was certainly not applied. */
const NOT_TAKEN = null;

interface Question {
  shard: number;
  command: Command;
}

/**
 * Hands a command to the neighbour that owns its shard; false when it is not there.
 *
 * @param hear gets the result as `encodeResult` writes it; "not-taken": it was certainly not applied; "lost": nobody knows
 */
export function handOver(
  neighbours: Neighbours,
  owner: string,
  { shard, command }: Question,
  hear: (result: Json | "not-taken" | "lost") => void,
): boolean {
  const question = { shard, command: command as unknown as Json };
  return neighbours.ask(owner, question, (answer) => {
    hear(answer === undefined ? "lost" : answer === NOT_TAKEN ? "not-taken" : answer);
  });
}

/** Takes the commands of neighbours for shards that this replica owns. */
export function serveNeighbours(
  neighbours: Neighbours,
  { shards, clock }: { shards: OwnedShards; clock: Clock },
): void {
  neighbours.serve((question, answer) => {
    const { shard, command } = question as unknown as Question;
    const { id: _, ...rest } = command;
    const isTaken = shards.enqueue(shard, {
      ...rest,
      arrivedAt: clock.monotonic(),
      settle: (result) => {
        const isMoved = !result.ok && result.error instanceof Moved;
        answer(isMoved ? NOT_TAKEN : encodeResult(result));
      },
    });
    if (!isTaken) answer(NOT_TAKEN);
  });
}
