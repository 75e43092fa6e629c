/** Applies the commands of one actor to it, and lets it go on. */
import { Problem } from "../../base/problem.ts";
import { workingOn } from "../../base/work.ts";
import type { ActorBatch, QueuedCommand } from "./actor_batch.ts";
import type { BatchDeps, BatchEnv } from "./batch_env.ts";
import { ChangeDraft } from "./change_draft.ts";
import { StoreTrouble } from "./store_trouble.ts";
import { waitFor, type Waits } from "./waits.ts";

/** Rounds of loading manifests that one command may need; more is a defect. */
const MAX_ROUNDS = 1_000;

/** A command during which the actor threw. */
export class Poisoned extends Error {
  readonly command: QueuedCommand;
  constructor(command: QueuedCommand, cause: unknown) {
    super("poisoned", { cause });
    this.command = command;
  }
}

/** How the commands are applied. */
export interface ApplyMode {
  /** Commands that are refused, and why. Undefined: none are. */
  poison: ReadonlyMap<QueuedCommand, { error: unknown }> | undefined;
  /** The actor goes on after each command, to find the one that makes it throw. */
  isStepwise: boolean;
}

/**
 * Applies all commands of a batch in order.
 *
 * @throws {StoreTrouble}
 * @throws {Poisoned} the actor threw during a command
 * @throws {unknown} the actor threw while it went on
 */
export function* applyCommands(
  batch: ActorBatch,
  { poison, isStepwise }: ApplyMode,
  env: BatchEnv,
  deps: BatchDeps,
): Waits<void> {
  const { commands, outcomes, entry: { actor, version } } = batch;
  const { share } = deps;
  const draft = new ChangeDraft(batch);
  if (share.isTired) yield share.rest();
  // When the actor cannot go on by itself, no command is to blame.
  if (isStepwise) yield* settle(draft, env, deps);
  for (const command of commands) {
    const refusal = poison?.get(command);
    if (refusal !== undefined) {
      outcomes.push(refusal);
      continue;
    }
    // Many commands of one actor may take long together.
    if (share.isTired) yield share.rest();
    workingOn("workflow", batch.id);
    try {
      // After another command of the batch, the actor is not as it is stored.
      const stored = !isStepwise && command === commands[0] ? version : undefined;
      let answer = share.run(() => actor.receive(command.body, env, stored));
      if (typeof answer === "object") answer = yield* waitFor(share.runInTurns(answer));
      outcomes.push({ answer });
      draft.afterReceive();
      if (isStepwise) yield* settle(draft, env, deps);
    } catch (cause) {
      if (cause instanceof StoreTrouble) throw cause;
      if (!(cause instanceof Problem)) throw new Poisoned(command, cause);
      outcomes[commands.indexOf(command)] = { error: cause };
    }
  }
  if (!isStepwise) yield* settle(draft, env, deps);
  draft.finish();
}

/** Lets the actor go on until it needs nothing more. */
function* settle(draft: ChangeDraft, env: BatchEnv, deps: BatchDeps): Waits<void> {
  const { id, entry: { actor } } = draft.batch;
  for (let round = 0; round < MAX_ROUNDS; round++) {
    workingOn("workflow", id);
    if (!deps.frozen && actor.exists()) deps.share.run(() => actor.advance(env));
    const needs = draft.take();
    if (needs.length === 0 || deps.frozen) return;
    yield env.load(needs);
  }
  throw new Error(`Actor needs manifests again and again`);
}
