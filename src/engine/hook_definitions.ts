/** Where lifecycle hooks are written: in the workflow, or in a step or task; `onExit` is the old form of the exit hook. */
import type { LifecycleHook, StepLike } from "../spec/manifest.ts";
import { executedSpec, type Turn } from "./state.ts";

/** A hook of the workflow; `exit` is its exit handler. */
export function workflowHook(turn: Turn, name: string): LifecycleHook | undefined {
  const { hooks, onExit } = executedSpec(turn.state);
  if (name !== "exit") return hooks?.[name];
  if (hooks?.["exit"] !== undefined) return hooks["exit"];
  return onExit === undefined || onExit === "" ? undefined : { template: onExit };
}

/** A hook of a step or task. The old form of the exit hook gets the workflow's arguments. */
export function findHook(turn: Turn, step: StepLike, name: string): LifecycleHook | undefined {
  if (name !== "exit") return step.hooks?.[name];
  if (step.hooks?.["exit"] !== undefined) return step.hooks["exit"];
  if (step.onExit === undefined || step.onExit === "") return undefined;
  const given = executedSpec(turn.state).arguments;
  return { template: step.onExit, ...(given === undefined ? {} : { arguments: given }) };
}

/** Names of the hooks besides the exit handler, sorted. */
export function hookNames(hooks: Record<string, LifecycleHook> | undefined): string[] {
  return Object.keys(hooks ?? {}).filter((name) => name !== "exit").sort();
}

/** Tells whether a step has hooks of any kind. */
export function hasHooks(step: StepLike): boolean {
  return step.hooks !== undefined || (step.onExit ?? "") !== "";
}
