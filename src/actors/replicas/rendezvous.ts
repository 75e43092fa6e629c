/**
 * Which live replica should own which shard: rendezvous hashing, so that a replica that comes or goes moves only its own
 * share. Every replica computes the same answer from the same list.
 */
import { hashText, mix } from "../actor_ids.ts";

/** The replica with the highest score for the shard; undefined when there is none. */
export function ownerOf(shard: number, replicas: readonly string[]): string | undefined {
  let best: string | undefined;
  let bestScore = -1;
  for (const replica of replicas) {
    const score = mix(hashText(replica) ^ mix(shard + 1));
    if (score > bestScore || (score === bestScore && replica < (best ?? ""))) {
      best = replica;
      bestScore = score;
    }
  }
  return best;
}
