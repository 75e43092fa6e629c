/** Applies the commands of one actor to it, and lets it go on. */
import { Problem } from "../../base/problem.ts";
import { workingOn } from "../../base/work.ts";
import type { ManifestRef } from "../../engine/engine.ts";
import type { HotActor } from "../hot_actor.ts";
import type { ActorBatch, CommandOutcome, QueuedCommand } from "./actor_batch.ts";
import type { BatchDeps, BatchEnv } from "./batch_env.ts";
import { ChangeDraft } from "./change_draft.ts";
import { StoreTrouble } from "./store_trouble.ts";

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

/** The commands of one actor on their way into it. */
interface Application {
  batch: ActorBatch;
  draft: ChangeDraft;
  mode: ApplyMode;
  env: BatchEnv;
  deps: BatchDeps;
}

/**
 * Applies all commands of a batch in order. Nearly always nothing has to be waited for: then all is done when it returns.
 *
 * @throws {StoreTrouble}
 * @throws {Poisoned} the actor threw during a command
 * @throws {unknown} the actor threw while it went on
 */
export function applyCommands(
  batch: ActorBatch,
  mode: ApplyMode,
  env: BatchEnv,
  deps: BatchDeps,
): Promise<void> | void {
  const work: Application = { batch, draft: new ChangeDraft(batch), mode, env, deps };
  const [first] = batch.commands;
  if (first === undefined || batch.commands.length > 1 || mode.isStepwise || deps.share.isTired) {
    return applyAll(work);
  }
  return deps.share.run(() => {
    const applied = applyOne(first, 0, work);
    return applied === undefined ? finish(work) : applied.then(() => finish(work));
  });
}

async function applyAll(work: Application): Promise<void> {
  const { batch, draft, mode, deps: { share } } = work;
  if (share.isTired) await share.rest();
  // When the actor cannot go on by itself, no command is to blame.
  if (mode.isStepwise) await goOn(work);
  for (const [at, command] of batch.commands.entries()) {
    // Many commands of one actor may take long together.
    if (share.isTired) await share.rest();
    const applied = applyOne(command, at, work);
    if (applied !== undefined) await applied;
  }
  if (mode.isStepwise) draft.finish();
  else await finish(work);
}

function applyOne(
  command: QueuedCommand,
  at: number,
  work: Application,
): Promise<void> | void {
  const { batch, draft, mode, env, deps } = work;
  const refusal = mode.poison?.get(command);
  if (refusal !== undefined) {
    batch.outcomes[at] = refusal;
    return;
  }
  workingOn("workflow", batch.id);
  try {
    const { actor, version } = batch.entry;
    // After another command of the batch, the actor is not as it is stored.
    const stored = !mode.isStepwise && at === 0 ? version : undefined;
    const answer = deps.share.run(() => actor.receive(command.body, env, stored));
    if (typeof answer === "object" || mode.isStepwise) {
      return applyInTurns(command, at, answer, work);
    }
    batch.outcomes[at] = { answer };
    draft.afterReceive();
  } catch (cause) {
    batch.outcomes[at] = refusalFor(command, cause);
  }
}

async function applyInTurns(
  command: QueuedCommand,
  at: number,
  answer: ReturnType<HotActor["receive"]>,
  work: Application,
): Promise<void> {
  const { batch: { outcomes }, draft, mode, deps: { share } } = work;
  try {
    const last = typeof answer === "object" ? await share.runInTurns(answer) : answer;
    outcomes[at] = { answer: last };
    draft.afterReceive();
    if (mode.isStepwise) await goOn(work);
  } catch (cause) {
    outcomes[at] = refusalFor(command, cause);
  }
}

/** The outcome of a command that was refused. Any other cause is thrown on. */
function refusalFor(command: QueuedCommand, cause: unknown): CommandOutcome {
  if (cause instanceof StoreTrouble) throw cause;
  if (!(cause instanceof Problem)) throw new Poisoned(command, cause);
  return { error: cause };
}

/** Lets the actor go on, and hands its last change to the batch. */
function finish(work: Application): Promise<void> | void {
  const going = goOn(work);
  if (going !== undefined) return going.then(() => work.draft.finish());
  work.draft.finish();
}

/** Lets the actor go on until it needs nothing more. */
function goOn(work: Application): Promise<void> | void {
  const needs = goOnOnce(work);
  return needs.length === 0 ? undefined : goOnWith(needs, work);
}

async function goOnWith(first: ManifestRef[], work: Application): Promise<void> {
  let needs = first;
  for (let round = 1; round < MAX_ROUNDS; round++) {
    await work.env.load(needs);
    needs = goOnOnce(work);
    if (needs.length === 0) return;
  }
  throw new Error(`Actor needs manifests again and again`);
}

/** Gives what the actor needs to go on further. */
function goOnOnce({ batch, draft, env, deps }: Application): ManifestRef[] {
  const { actor } = batch.entry;
  workingOn("workflow", batch.id);
  if (!deps.frozen && actor.exists()) deps.share.run(() => actor.advance(env));
  const needs = draft.take();
  return deps.frozen ? [] : needs;
}
