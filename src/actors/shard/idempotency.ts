/**
 * Idempotency keys: the same key and fingerprint have one effect and get the same answer, through any replica. A refusal is
 * not stored, so the same key may be sent again when the actor allows the command.
 */
import { isJsonObject } from "../../base/json.ts";
import { Problem, ProblemCode } from "../../base/problem.ts";
import type { Answer, Store } from "../../store/port.ts";
import type { ActorKind } from "../hot_actor.ts";
import { keptAnswer } from "../kinds.ts";
import { encodeResult, type Result } from "../result.ts";
import type { ActorBatch, KnownResults, QueuedCommand } from "./actor_batch.ts";
import { StoreTrouble } from "./store_trouble.ts";

/** How long a stored answer to an idempotency key is kept, ms. */
const ANSWER_TTL_MS = 24 * 3_600_000;

/**
 * Results of commands whose idempotency key is stored, or stands twice in the batch.
 *
 * @throws {StoreTrouble}
 */
export async function findKnownResults(
  commands: readonly QueuedCommand[],
  shard: number,
  { store, kinds }: { store: Store; kinds: readonly ActorKind[] },
): Promise<KnownResults> {
  const keyed = commands.filter(hasKey);
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

/** Tells whether a repeat of the command must get the same answer. */
export function hasKey(command: QueuedCommand): command is KeyedCommand {
  return command.idempotency !== undefined;
}

/**
 * Answers of a batch to commands with a key, for their repeats. The commit adds the version that it gives to the actor.
 *
 * @param now epoch ms
 */
export function answersToKeep(batch: ActorBatch, now: number): Answer[] {
  const { id, changes, entry: { version } } = batch;
  const versioned = changes.length > 0 ? { actor: id } : version === undefined ? {} : { version };
  const answers: Answer[] = [];
  for (const [at, { idempotency }] of batch.commands.entries()) {
    const outcome = batch.outcomes[at];
    if (!idempotency || !outcome || "error" in outcome || !outcome.answer) continue;
    const wire = encodeResult({ ok: true, answer: outcome.answer(undefined) });
    const { key, fingerprint, ttlMs = ANSWER_TTL_MS } = idempotency;
    const answer = isJsonObject(wire) ? wire["answer"] ?? null : null;
    answers.push({ key, fingerprint, answer, expiresAt: now + ttlMs, ...versioned });
  }
  return answers;
}

/** The refusal of an idempotency key that came with another request. */
function keyReused(): Problem {
  return new Problem(
    ProblemCode.Aborted,
    "The idempotency key was used with another request; take a new key",
    { status: 422 },
  );
}
