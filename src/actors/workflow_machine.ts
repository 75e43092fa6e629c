/**
 * The life of a workflow as a machine. Its events are what users and executors say; its actions and guards are the
 * engine's functions, so nothing about workflows is decided here. The engine's state is in the context; what is kept is
 * the state's value, in the workflow's header. No `after` and no `invoke`: neither survives being stored. So nothing runs
 * between two events, and no started actor is needed: an event makes the next snapshot out of the last one.
 *
 *   pending ─▶ running ⇄ suspended ─▶ stopping ─▶ terminating ─▶ succeeded | failed | error
 *                 ▲                                                       │
 *                 └──────────────────────── retry ────────────────────────┘
 */
import { createActor, setup, type SnapshotFrom } from "xstate";
import { accept } from "../engine/accept.ts";
import { advance } from "../engine/advance.ts";
import type { ControlRequest, Fact } from "../engine/command.ts";
import { control } from "../engine/control.ts";
import type { EngineEnv } from "../engine/engine.ts";
import type { PreparedRetry } from "../engine/manual_retry.ts";
import type { WorkflowState } from "../engine/state.ts";

export const LifeState = [
  "pending",
  "running",
  "suspended",
  "stopping",
  "terminating",
  "succeeded",
  "failed",
  "error",
] as const;
export type LifeState = typeof LifeState[number];

/** What surrounds one event, and what it led to. XState must never see a throw: it would end the actor for good. */
export interface Turn {
  env: EngineEnv;
  error?: unknown;
}

export type LifeEvent =
  | {
    type: ControlRequest["type"];
    request: ControlRequest;
    /** Of a retry, when it is known. */
    prepared?: PreparedRetry;
    turn: Turn;
  }
  | { type: "fact"; fact: Fact; turn: Turn }
  | { type: "goOn"; turn: Turn };

/** Holds the engine's state where XState does not walk through it when it restores an actor. */
class WorkflowCell {
  readonly #state: WorkflowState;
  constructor(state: WorkflowState) {
    this.#state = state;
  }
  get state(): WorkflowState {
    return this.#state;
  }
}

interface LifeContext {
  cell: WorkflowCell;
}

/** The state of life that the engine's state amounts to. */
export function lifeStateOf({ header, specs }: WorkflowState): LifeState {
  switch (header.phase) {
    case "Succeeded":
      return "succeeded";
    case "Failed":
      return "failed";
    case "Error":
      return "error";
    case "":
    case "Pending":
    case "Running":
      if (specs.spec.shutdown === "Terminate") return "terminating";
      if (specs.spec.shutdown === "Stop") return "stopping";
      if (specs.spec.suspend) return "suspended";
      return header.phase === "Running" ? "running" : "pending";
  }
}

/** Runs an engine function; a throw is kept for whoever sent the event. */
function attempt(turn: Turn, run: () => void): void {
  try {
    run();
  } catch (cause) {
    turn.error = cause;
  }
}

const life = setup({
  types: {} as { context: LifeContext; events: LifeEvent; input: LifeContext },
  actions: {
    control: ({ context, event }) => {
      if (event.type === "fact" || event.type === "goOn") return;
      const { request, prepared, turn } = event;
      attempt(turn, () => control(context.cell.state, request, turn.env, prepared));
    },
    accept: ({ context, event }) => {
      if (event.type !== "fact") return;
      attempt(event.turn, () => accept(context.cell.state, event.fact, event.turn.env));
    },
    advance: ({ context, event }) => {
      if (event.type !== "goOn") return;
      attempt(event.turn, () => advance(context.cell.state, event.turn.env));
    },
  },
  guards: {
    is: ({ context }, life: LifeState) => lifeStateOf(context.cell.state) === life,
  },
});

/** Transitions that follow by themselves when the engine's state says so. */
function becomes(...targets: LifeState[]) {
  return targets.map((target) => ({ guard: { type: "is" as const, params: target }, target }));
}

export const workflowMachine = life.createMachine({
  id: "workflow",
  context: ({ input }) => input,
  initial: "pending",
  on: {
    suspend: { actions: "control" },
    resume: { actions: "control" },
    stop: { actions: "control" },
    terminate: { actions: "control" },
    retry: { actions: "control" },
    set: { actions: "control" },
    fact: { actions: "accept" },
    goOn: { actions: "advance" },
  },
  states: {
    pending: {
      always: becomes(
        "running",
        "suspended",
        "stopping",
        "terminating",
        "succeeded",
        "failed",
        "error",
      ),
    },
    running: {
      always: becomes(
        "pending",
        "suspended",
        "stopping",
        "terminating",
        "succeeded",
        "failed",
        "error",
      ),
    },
    suspended: {
      always: becomes(
        "pending",
        "running",
        "stopping",
        "terminating",
        "succeeded",
        "failed",
        "error",
      ),
    },
    stopping: { always: becomes("terminating", "succeeded", "failed", "error") },
    terminating: { always: becomes("succeeded", "failed", "error") },
    /** Ended. A retry begins a new round. */
    succeeded: { always: becomes("pending", "running", "suspended") },
    failed: { always: becomes("pending", "running", "suspended") },
    error: { always: becomes("pending", "running", "suspended") },
  },
});

export type LifeSnapshot = SnapshotFrom<typeof workflowMachine>;

/** A workflow in a state of life. */
export function lifeAt(value: LifeState, state: WorkflowState): LifeSnapshot {
  return workflowMachine.resolveState({ value, context: { cell: new WorkflowCell(state) } });
}

/** Where a machine's steps take place; never started, so it has no state of its own. */
const PLACE = createActor(workflowMachine, {
  snapshot: lifeAt("succeeded", {} as WorkflowState),
  input: { cell: new WorkflowCell({} as WorkflowState) },
});

/** What an event makes of a workflow's life. Actions run at once: what follows by itself reads what they did. */
export function nextLife(snapshot: LifeSnapshot, event: LifeEvent): LifeSnapshot {
  return workflowMachine.transition(snapshot, event, {
    self: PLACE,
    system: PLACE.system,
    id: "workflow",
    sessionId: "",
    logger: () => {},
    defer: () => {},
    emit: () => {},
    stopChild: () => {},
    actionExecutor: (action) => action.exec?.(action.info, action.params),
  });
}
