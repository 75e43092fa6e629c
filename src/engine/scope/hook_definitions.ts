/** Finds lifecycle hooks in a workflow, step or task. `onExit` is the old form of the hook `exit`. */
import type { LifecycleHook, StepLike } from "../../spec/manifest.ts";
import { executedSpec } from "../state.ts";
import type { Turn } from "../turn.ts";
import { withGlobals } from "./own_settings.ts";
import { fillArguments } from "./workflow_variables.ts";

/** A hook of the workflow; `exit` is its exit handler. */
export function workflowHook(turn: Turn, name: string): LifecycleHook | undefined {
  const hook = findHook(turn, executedSpec(turn.state), name);
  if (hook === undefined) return undefined;
  const { template, templateRef } = hook;
  const named = { ...(template && { template }), ...(templateRef && { templateRef }) };
  return { ...hook, ...withGlobals(turn, named) };
}

/**
 * A hook of a step or task, as it is written. `onExit` comes before the hook `exit`. An exit handler without arguments gets
 * those of the workflow.
 */
export function findHook(
  turn: Turn,
  { hooks, onExit = "" }: Pick<StepLike, "hooks" | "onExit">,
  name: string,
): LifecycleHook | undefined {
  const hook = name === "exit" && onExit !== "" ? { template: onExit } : hooks?.[name];
  if (name !== "exit" || hook === undefined) return hook;
  const given = hook.arguments;
  const isGiven = (given?.parameters?.length ?? 0) > 0 || (given?.artifacts?.length ?? 0) > 0;
  const ofWorkflow = () => fillArguments(turn, executedSpec(turn.state).arguments ?? {});
  const passed = given !== undefined && isGiven ? given : ofWorkflow();
  const { arguments: _arguments, ...rest } = hook;
  return { ...rest, arguments: passed };
}

/** Names of the hooks, without the exit handler, sorted. */
export function hookNames(hooks: Record<string, LifecycleHook> | undefined): string[] {
  if (hooks === undefined) return [];
  return Object.keys(hooks).filter((name) => name !== "exit").sort();
}

/** Tells whether a step has hooks of any kind. */
export function hasHooks(step: StepLike): boolean {
  return step.hooks !== undefined || (step.onExit ?? "") !== "";
}
