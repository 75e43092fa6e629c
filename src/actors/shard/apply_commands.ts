/** Applies the commands of one actor to it, and lets it go on. */
import { Problem } from "../../base/problem.ts";
import { workingOn } from "../../base/work.ts";
import type { HotActor } from "../hot_actor.ts";
import type { CommandOutcome, QueuedCommand } from "./actor_batch.ts";
import type { BatchDeps, BatchEnv } from "./batch_env.ts";
import type { ChangeDraft } from "./change_draft.ts";
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
  draft: ChangeDraft;
  mode: ApplyMode;
  env: BatchEnv;
  deps: BatchDeps;
}

/**
 * Applies all commands of an actor in order. Nearly always nothing has to be waited for: then all is done when it returns.
 *
 * @throws {StoreTrouble}
 * @throws {Poisoned} the actor threw during a command
 * @throws {unknown} the actor threw while it went on
 */
export function applyCommands(
  draft: ChangeDraft,
  mode: ApplyMode,
  env: BatchEnv,
  deps: BatchDeps,
): Promise<void> | void {
  const work: Application = { draft, mode, env, deps };
  const [first] = draft.commands;
  if (first === undefined || draft.commands.length > 1 || mode.isStepwise || deps.share.isTired) {
    return applyAll(work);
  }
  return deps.share.run(() => {
    const applied = applyOne(first, 0, work);
    return applied === undefined ? finish(work) : applied.then(() => finish(work));
  });
}

async function applyAll(work: Application): Promise<void> {
  const { draft, mode: { isStepwise }, deps: { share } } = work;
  if (share.isTired) await share.rest();
  // When the actor cannot go on by itself, no command is to blame.
  if (isStepwise) await goOn(work);
  for (const [at, command] of draft.commands.entries()) {
    // Many commands of one actor may take long together.
    if (share.isTired) await share.rest();
    const applied = share.run(() => applyOne(command, at, work));
    if (applied !== undefined) await applied;
  }
  if (isStepwise) draft.finish();
  else await finish(work);
}

function applyOne(command: QueuedCommand, at: number, work: Application): Promise<void> | void {
  const { draft, mode, env } = work;
  const refusal = mode.poison?.get(command);
  if (refusal !== undefined) {
    draft.outcomes[at] = refusal;
    return;
  }
  workingOn("workflow", draft.id);
  try {
    const { actor, version } = draft.entry;
    // After another command of the batch, the actor is not as it is stored.
    const answer = actor.receive(
      command.body,
      env,
      mode.isStepwise || at > 0 ? undefined : version,
    );
    if (typeof answer === "object" || mode.isStepwise) {
      return applyInTurns(command, at, answer, work);
    }
    draft.outcomes[at] = { answer };
    draft.afterReceive();
  } catch (cause) {
    draft.outcomes[at] = refusalFor(command, cause);
  }
}

async function applyInTurns(
  command: QueuedCommand,
  at: number,
  answer: ReturnType<HotActor["receive"]>,
  work: Application,
): Promise<void> {
  const { draft, mode, deps: { share } } = work;
  try {
    const last = typeof answer === "object" ? await share.runInTurns(answer) : answer;
    draft.outcomes[at] = { answer: last };
    draft.afterReceive();
    if (mode.isStepwise) await goOn(work);
  } catch (cause) {
    draft.outcomes[at] = refusalFor(command, cause);
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
function goOn(work: Application, round = 1): Promise<void> | void {
  const { draft, env, deps } = work;
  const { actor } = draft.entry;
  workingOn("workflow", draft.id);
  if (!deps.frozen && actor.exists()) deps.share.run(() => actor.advance(env));
  const preparing = actor.prepareTake?.();
  return preparing === undefined
    ? takeFrom(work, round)
    : deps.share.runInTurns(preparing).then(() => takeFrom(work, round));
}

/** Hands what changed to the draft, and lets the actor go on if it needs manifests. */
function takeFrom(work: Application, round: number): Promise<void> | void {
  const { draft, env, deps } = work;
  const needs = draft.take();
  if (deps.frozen || needs.length === 0) return;
  if (round === MAX_ROUNDS) throw new Error("Actor needs manifests again and again");
  return env.load(needs).then(() => goOn(work, round + 1));
}
