/** What the senders of commands are told. */
import { Problem, ProblemCode } from "../../base/problem.ts";
import type { ManifestsChanged } from "../../store/manifest_port.ts";
import type { CommitResult } from "../../store/port.ts";
import { encodeResult, type Result } from "../result.ts";
import type { ActorBatch, KnownResults, QueuedCommand } from "./actor_batch.ts";

/** An answer on its way to another replica. */
export interface Reply {
  request: string;
  answer: ReturnType<typeof encodeResult>;
}

/**
 * Tells the senders what became of their commands, and notes the versions of the actors.
 *
 * @param reply takes what goes to another replica
 */
export function answerAll(
  batches: readonly ActorBatch[],
  known: KnownResults | undefined,
  { versions }: CommitResult,
  reply: (replica: string, answers: Reply[]) => void,
): void {
  /** By replica: all that goes to one goes at once. */
  let replies: Map<string, Reply[]> | undefined;
  const tell = (command: QueuedCommand, result: Result) => {
    command.settle?.(result);
    // A neighbour has heard it: its command also names where a receipt is looked for.
    if (!command.replyTo || command.settle) return;
    const { replica, request } = command.replyTo;
    const own = (replies ??= new Map()).get(replica) ?? [];
    own.push({ request, answer: encodeResult(result) });
    replies.set(replica, own);
  };
  const results = known && new Map<QueuedCommand, Result>();
  for (const { id, entry, commands, outcomes } of batches) {
    const version = versions[id] ?? entry.version;
    entry.version = entry.actor.exists() ? version : undefined;
    let at = 0;
    for (const command of commands) {
      const outcome = outcomes[at++];
      if (outcome === undefined || (!command.settle && !command.replyTo)) continue;
      const result: Result = "error" in outcome
        ? { ok: false, error: outcome.error }
        : { ok: true, answer: outcome.answer?.(version) };
      results?.set(command, result);
      tell(command, result);
    }
  }
  known?.forEach((found, command) => {
    const result = "ok" in found ? found : results?.get(found);
    tell(command, result ?? { ok: false, error: defect() });
  });
  replies?.forEach((answers, replica) => reply(replica, answers));
}

function defect(): Problem {
  return new Problem(ProblemCode.Internal, "Internal error");
}

/** Sends back the commands that have used manifests of an earlier version, and leaves the others. */
export function refuseOutdated(commands: QueuedCommand[], error: ManifestsChanged): void {
  const outdated = commands.filter(({ ifManifests }) => ifManifests !== undefined);
  const others = commands.filter(({ ifManifests }) => ifManifests === undefined);
  commands.splice(0, commands.length, ...others);
  for (const { settle } of outdated) settle?.({ ok: false, error });
}
