/**
 * Takes a workflow through the statechart of its life. Only this file changes the state of life (`header.machine`) and the
 * phase.
 */
import { Problem, ProblemCode } from "../../base/problem.ts";
import type { WorkflowPhase } from "../../spec/manifest.ts";
import { completedLabel } from "../../spec/naming.ts";
import type { ControlRequest } from "../command.ts";
import type { EngineEnv } from "../engine.ts";
import type { WorkflowState } from "../state.ts";
import type { Header, StoredSpecs } from "../records.ts";
import type { Turn } from "../turn.ts";
import {
  type Arrow,
  type Circumstances,
  GUARDS,
  LIFE,
  LIFE_STATES,
  type LifeEvent,
  type LifeState,
  type Refusal,
  REFUSALS,
  type Report,
  type Statechart,
} from "./statechart.ts";

/** The arrow that a state follows at an event; undefined when none fits. */
export function arrowAt(
  life: LifeState,
  event: LifeEvent,
  circumstances: Circumstances,
  chart: Statechart = LIFE,
): Arrow | undefined {
  return chart.states[life].on[event.type]?.find(({ guard }) =>
    guard === undefined || GUARDS[guard](circumstances, event)
  );
}

/**
 * The state of life after a request. Changes nothing: whoever carries out the request calls {@link enter} then.
 * @throws {Problem} InvalidArgument or FailedPrecondition when the present state refuses the request
 */
export function stateAfter(
  { header, specs }: WorkflowState,
  request: ControlRequest,
  env: EngineEnv,
): LifeState {
  const arrow = arrowAt(header.machine, request, circumstancesOf(header, specs, env));
  if (arrow?.target !== undefined) return arrow.target;
  throw problemOf(REFUSALS[arrow?.meta?.refusal ?? "aside"], header, env);
}

/** Tells the chart what has happened to the workflow's nodes. State and phase follow from it. */
export function report({ state, env }: Turn, type: Report): void {
  const { header, specs } = state;
  const arrow = arrowAt(header.machine, { type }, circumstancesOf(header, specs, env));
  if (arrow?.target !== undefined) enter(state, arrow.target, type);
}

/** Phases that follow from an event. After any other event the workflow keeps its phase. */
const PHASE_AFTER: Readonly<Partial<Record<LifeEvent["type"], WorkflowPhase>>> = {
  retry: "",
  queued: "Pending",
  begun: "Running",
  succeeded: "Succeeded",
  failed: "Failed",
  errored: "Error",
};

/** State and phase of what is put aside, whatever they were: a damaged header may not tell. */
export const ASIDE = { phase: "Error", machine: "aside" } as const satisfies Partial<Header>;

/** Enters the state to which an event leads. */
export function enter(
  { header, pending }: WorkflowState,
  life: LifeState,
  event: LifeEvent["type"],
): void {
  const phase = PHASE_AFTER[event] ?? header.phase;
  if (header.machine === life && header.phase === phase) return;
  header.machine = life;
  header.phase = phase;
  pending.header = true;
}

/**
 * The state of life of a workflow that was stored or imported. If it has none, or one that its phase does not allow, as
 * records of older programs may, it follows from phase and spec.
 */
export function adoptedLife(
  { machine, phase, isAside }: Pick<Header, "phase" | "isAside"> & { machine?: unknown },
  { spec }: StoredSpecs,
): LifeState {
  if (isAside === true) return "aside";
  const stored = machine === undefined ? undefined : LIFE_STATES.find((life) => life === machine);
  if (stored !== undefined && LIFE.states[stored].meta.phases.includes(phase)) return stored;
  if (phase === "Succeeded") return "succeeded";
  if (phase === "Failed") return "failed";
  if (phase === "Error") return "error";
  if (spec.shutdown === "Terminate") return "terminating";
  if ((spec.shutdown ?? "") !== "") return "stopping";
  if (spec.suspend === true) return "suspended";
  return phase === "Running" ? "running" : "pending";
}

/** Makes a workflow begin that shows how it ended but not when: it was imported so. */
export function reopen({ header, specs, pending }: WorkflowState): void {
  header.phase = "";
  header.machine = adoptedLife(header, specs);
  pending.header = true;
}

function circumstancesOf(
  { phase, metadata }: Header,
  { spec }: StoredSpecs,
  env: EngineEnv,
): Circumstances {
  return {
    phase,
    isHeld: spec.suspend === true,
    isLabelledCompleted: metadata.labels?.[completedLabel(env)] === "true",
  };
}

function problemOf({ code, text }: Refusal, header: Header, { apiGroup }: EngineEnv): Problem {
  const { phase, message = "put aside", metadata: { name = "", namespace = "" } } = header;
  const values: Readonly<Record<string, string>> = { name, namespace, phase, message, apiGroup };
  return new Problem(
    ProblemCode[code],
    text.replaceAll(/\{(\w+)\}/g, (_, key: string) => values[key] ?? ""),
  );
}
