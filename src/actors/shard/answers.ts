/** What the senders of commands are told, and the commands whose answer is known before any actor is asked. */
import { Problem, ProblemCode } from "../../base/problem.ts";
import type { CommitResult, Store } from "../../store/port.ts";
import type { ActorKind } from "../hot_actor.ts";
import { keptAnswer } from "../kinds.ts";
import { encodeResult, type Result } from "../result.ts";
import type { ActorBatch, KnownResults, QueuedCommand } from "./actor_batch.ts";
import { StoreTrouble } from "./store_trouble.ts";

/** An answer on its way to another replica. */
export interface Reply {
  request: string;
  answer: ReturnType<typeof encodeResult>;
}

/**
 * Results of commands whose idempotency key is stored, or stands twice in the batch. Undefined when no command has a key.
 *
 * @throws {StoreTrouble}
 */
export async function findKnownResults(
  commands: readonly QueuedCommand[],
  shard: number,
  { store, kinds }: { store: Store; kinds: readonly ActorKind[] },
): Promise<KnownResults | undefined> {
  const keyed = commands.filter(hasKey);
  if (keyed.length === 0) return undefined;
  const keys = [...new Set(keyed.map(({ idempotency }) => idempotency.key))];
  const stored = await store.shards.findAnswers(shard, keys).catch((cause) => {
    throw new StoreTrouble(cause);
  });
  const known = new Map<QueuedCommand, Result | QueuedCommand>();
  const firsts = new Map<string, KeyedCommand>();
  for (const command of keyed) {
    const { key, fingerprint } = command.idempotency;
    const answer = stored[key];
    const first = firsts.get(key);
    const earlier = answer ?? first?.idempotency;
    if (earlier === undefined) firsts.set(key, command);
    else if (earlier.fingerprint !== fingerprint) {
      known.set(command, { ok: false, error: keyReused() });
    } else if (answer) {
      known.set(command, { ok: true, answer: keptAnswer(kinds, command.actor, answer) });
    } else if (first) known.set(command, first);
  }
  return known;
}

type KeyedCommand = QueuedCommand & Required<Pick<QueuedCommand, "idempotency">>;

function hasKey(command: QueuedCommand): command is KeyedCommand {
  return command.idempotency !== undefined;
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
  const replies = new Map<string, Reply[]>();
  for (const [command, result] of resultsOf(batches, known, versions)) {
    command.settle?.(result);
    // A neighbour has heard it: its command also names where a receipt is looked for.
    if (!command.replyTo || command.settle) continue;
    const { replica, request } = command.replyTo;
    const own = replies.get(replica) ?? [];
    own.push({ request, answer: encodeResult(result) });
    replies.set(replica, own);
  }
  for (const [replica, answers] of replies) reply(replica, answers);
}

function resultsOf(
  batches: readonly ActorBatch[],
  known: KnownResults | undefined,
  versions: CommitResult["versions"],
): Map<QueuedCommand, Result> {
  const results = new Map<QueuedCommand, Result>();
  for (const { id, entry, outcomes } of batches) {
    const version = versions[id] ?? entry.version;
    entry.version = entry.actor.exists() ? version : undefined;
    for (const [command, outcome] of outcomes) {
      if (!command.settle && !command.replyTo) continue;
      results.set(
        command,
        "error" in outcome
          ? { ok: false, error: outcome.error }
          : { ok: true, answer: outcome.answer?.(version) },
      );
    }
  }
  for (const [command, found] of known ?? []) {
    const result = "ok" in found ? found : results.get(found);
    results.set(command, result ?? { ok: false, error: defect() });
  }
  return results;
}

/** The refusal of an idempotency key that came with another request. */
function keyReused(): Problem {
  return new Problem(
    ProblemCode.Aborted,
    "The idempotency key was used with another request; take a new key",
    { status: 422 },
  );
}

function defect(): Problem {
  return new Problem(ProblemCode.Internal, "Internal error");
}
