/**
 * The life of a workflow: its states, and where every request of a user and every report of the engine leads. Nothing else
 * decides this. The engine looks up the chart as it stands (`life.ts`). XState makes a machine of it
 * (`actors/workflow/machine.ts`), which draws docs/machines.md and checks every pair of state and event.
 *
 *   pending ─▶ running ⇄ suspended ─▶ stopping ⇄ terminating ─▶ succeeded | failed | error
 *                 ▲                                                        │
 *                 └──────────────────────── retry ─────────────────────────┘
 */
import type { WorkflowPhase } from "../../spec/manifest.ts";
import type { ControlRequest } from "../command.ts";

/** The states of a life, in their usual order. */
export const LIFE_STATES = [
  /** It has not begun, or waits for its own locks. */
  "pending",
  /** It continues by itself. */
  "running",
  /** It continues when somebody resumes it: it was suspended, or only suspend steps are active. */
  "suspended",
  /** It was stopped: active nodes end, and its exit handler still runs. */
  "stopping",
  /** It was terminated: everything ends. */
  "terminating",
  "succeeded",
  "failed",
  "error",
  /** It could not continue and was put aside: ended by its header alone. */
  "aside",
] as const;
export type LifeState = typeof LIFE_STATES[number];

/** What users ask. */
export const VERBS = ["suspend", "resume", "stop", "terminate", "retry", "set"] as const;
export type Verb = ControlRequest["type"];

/** What the engine reports. A report that a state does not list changes nothing. */
export const REPORTS = [
  /** The workflow has asked for the locks that it needs as a whole. */
  "queued",
  /** Its nodes begin. */
  "begun",
  /** Only suspend steps are active. */
  "waits",
  /** Other nodes are active too. */
  "goesOn",
  /** All nodes have ended, and the workflow with them. */
  "succeeded",
  "failed",
  "errored",
  /** It cannot continue. */
  "putAside",
] as const;
export type Report = typeof REPORTS[number];

export type LifeEvent = ControlRequest | { readonly type: Report };

/** What guards know about a workflow besides its state of life. */
export interface Circumstances {
  phase: WorkflowPhase;
  /** `spec.suspend` is set. */
  isHeld: boolean;
  /** It has the label `completed`. Whoever imports or submits a workflow may set it on one that has not ended. */
  isLabelledCompleted: boolean;
}

export type Guard = (circumstances: Circumstances, event: LifeEvent) => boolean;
export type GuardName =
  | "hasBegun"
  | "isAboutSteps"
  | "isHeld"
  | "isLabelledCompleted"
  | "restartsNothing";

export const GUARDS: Readonly<Record<GuardName, Guard>> = {
  hasBegun: ({ phase }) => phase === "Running",
  /** A node field selector chooses steps. The engine reports later what that means for the workflow. */
  isAboutSteps: (_, event) => selectorOf(event) !== "",
  isHeld: ({ isHeld }) => isHeld,
  isLabelledCompleted: ({ isLabelledCompleted }) => isLabelledCompleted,
  /** The retry does not choose succeeded steps that have to run again. */
  restartsNothing: (_, event) =>
    event.type !== "retry" || event.restartSuccessful !== true || selectorOf(event) === "",
};

function selectorOf(event: LifeEvent): string {
  return "nodeFieldSelector" in event ? event.nodeFieldSelector ?? "" : "";
}

export type RefusalName =
  | "suspendCompleted"
  | "shutDownCompleted"
  | "retryBeforeEnd"
  | "retrySucceeded"
  | "aside";

export interface Refusal {
  code: "InvalidArgument" | "FailedPrecondition";
  /** `{name}`, `{namespace}`, `{phase}`, `{message}` and `{apiGroup}` stand for those of the workflow. */
  text: string;
}

/** Why a request is refused. Clients of the reference know these texts. */
export const REFUSALS: Readonly<Record<RefusalName, Refusal>> = {
  suspendCompleted: {
    code: "FailedPrecondition",
    text: "cannot suspend completed workflows",
  },
  shutDownCompleted: {
    code: "FailedPrecondition",
    text: 'cannot shutdown a completed workflow: workflow: "{name}", namespace: "{namespace}"',
  },
  retryBeforeEnd: {
    code: "InvalidArgument",
    text: "Cannot retry a workflow in phase {phase}",
  },
  retrySucceeded: {
    code: "InvalidArgument",
    text: "To retry a succeeded workflow, set the options restartSuccessful and nodeFieldSelector",
  },
  aside: {
    code: "FailedPrecondition",
    text: 'workflows.{apiGroup} "{name}" was {message}; delete it, or submit it again',
  },
};

/** Where an event leads. An arrow without a target refuses the request. */
export interface Arrow {
  /** Absent: it always holds. */
  readonly guard?: GuardName;
  readonly target?: LifeState;
  readonly meta?: { readonly refusal: RefusalName };
}

/** Arrows by event. The first one whose guard holds is followed. */
export type Arrows = Readonly<
  & Record<Verb, readonly Arrow[]>
  & Partial<Record<Report, readonly Arrow[]>>
>;

export interface StateOfLife {
  /** Phases that a workflow may show in this state. */
  readonly meta: { readonly phases: readonly WorkflowPhase[] };
  readonly on: Arrows;
}

/** The form is that of an XState configuration. */
export interface Statechart {
  readonly initial: LifeState;
  readonly states: Readonly<Record<LifeState, StateOfLife>>;
}

function to(target: LifeState, guard?: GuardName): Arrow {
  return guard === undefined ? { target } : { guard, target };
}

function refuse(refusal: RefusalName, guard?: GuardName): Arrow {
  return { ...(guard === undefined ? {} : { guard }), meta: { refusal } };
}

const OPEN_PHASES: readonly WorkflowPhase[] = ["", "Pending", "Running"];

const ENDS = {
  succeeded: [to("succeeded")],
  failed: [to("failed")],
  errored: [to("error")],
  putAside: [to("aside")],
} as const;

export const LIFE: Statechart = {
  initial: "pending",
  states: {
    pending: {
      meta: { phases: ["", "Pending"] },
      on: {
        suspend: [refuse("suspendCompleted", "isLabelledCompleted"), to("suspended")],
        resume: [to("pending")],
        stop: [
          to("pending", "isAboutSteps"),
          refuse("shutDownCompleted", "isLabelledCompleted"),
          to("stopping"),
        ],
        terminate: [refuse("shutDownCompleted", "isLabelledCompleted"), to("terminating")],
        retry: [refuse("retryBeforeEnd")],
        set: [to("pending")],
        queued: [to("pending")],
        begun: [to("running")],
        ...ENDS,
      },
    },
    running: {
      meta: { phases: ["Running"] },
      on: {
        suspend: [refuse("suspendCompleted", "isLabelledCompleted"), to("suspended")],
        resume: [to("running")],
        stop: [
          to("running", "isAboutSteps"),
          refuse("shutDownCompleted", "isLabelledCompleted"),
          to("stopping"),
        ],
        terminate: [refuse("shutDownCompleted", "isLabelledCompleted"), to("terminating")],
        retry: [refuse("retryBeforeEnd")],
        set: [to("running")],
        // An imported workflow may be running without its locks.
        queued: [to("pending")],
        waits: [to("suspended")],
        ...ENDS,
      },
    },
    suspended: {
      meta: { phases: OPEN_PHASES },
      on: {
        suspend: [refuse("suspendCompleted", "isLabelledCompleted"), to("suspended")],
        resume: [to("suspended", "isAboutSteps"), to("running", "hasBegun"), to("pending")],
        stop: [
          to("suspended", "isAboutSteps"),
          refuse("shutDownCompleted", "isLabelledCompleted"),
          to("stopping"),
        ],
        terminate: [refuse("shutDownCompleted", "isLabelledCompleted"), to("terminating")],
        retry: [refuse("retryBeforeEnd")],
        set: [to("suspended")],
        queued: [to("suspended")],
        begun: [to("suspended")],
        goesOn: [to("suspended", "isHeld"), to("running", "hasBegun")],
        ...ENDS,
      },
    },
    // In this state and the next it may be suspended too, and then ends when it is resumed.
    stopping: {
      meta: { phases: OPEN_PHASES },
      on: {
        suspend: [refuse("suspendCompleted", "isLabelledCompleted"), to("stopping")],
        resume: [to("stopping")],
        stop: [
          to("stopping", "isAboutSteps"),
          refuse("shutDownCompleted", "isLabelledCompleted"),
          to("stopping"),
        ],
        terminate: [refuse("shutDownCompleted", "isLabelledCompleted"), to("terminating")],
        retry: [refuse("retryBeforeEnd")],
        set: [to("stopping")],
        begun: [to("stopping")],
        ...ENDS,
      },
    },
    terminating: {
      meta: { phases: OPEN_PHASES },
      on: {
        suspend: [refuse("suspendCompleted", "isLabelledCompleted"), to("terminating")],
        resume: [to("terminating")],
        // As in the reference, the last of the two counts.
        stop: [
          to("terminating", "isAboutSteps"),
          refuse("shutDownCompleted", "isLabelledCompleted"),
          to("stopping"),
        ],
        terminate: [refuse("shutDownCompleted", "isLabelledCompleted"), to("terminating")],
        retry: [refuse("retryBeforeEnd")],
        set: [to("terminating")],
        begun: [to("terminating")],
        ...ENDS,
      },
    },
    succeeded: {
      meta: { phases: ["Succeeded"] },
      on: {
        suspend: [refuse("suspendCompleted")],
        resume: [to("succeeded")],
        stop: [to("succeeded", "isAboutSteps"), refuse("shutDownCompleted")],
        terminate: [refuse("shutDownCompleted")],
        retry: [
          refuse("retrySucceeded", "restartsNothing"),
          to("suspended", "isHeld"),
          to("pending"),
        ],
        set: [to("succeeded")],
        putAside: [to("aside")],
      },
    },
    failed: {
      meta: { phases: ["Failed"] },
      on: {
        suspend: [refuse("suspendCompleted")],
        resume: [to("failed")],
        stop: [to("failed", "isAboutSteps"), refuse("shutDownCompleted")],
        terminate: [refuse("shutDownCompleted")],
        retry: [to("suspended", "isHeld"), to("pending")],
        set: [to("failed")],
        putAside: [to("aside")],
      },
    },
    error: {
      meta: { phases: ["Error"] },
      on: {
        suspend: [refuse("suspendCompleted")],
        resume: [to("error")],
        stop: [to("error", "isAboutSteps"), refuse("shutDownCompleted")],
        terminate: [refuse("shutDownCompleted")],
        retry: [to("suspended", "isHeld"), to("pending")],
        set: [to("error")],
        putAside: [to("aside")],
      },
    },
    aside: {
      meta: { phases: ["Error"] },
      on: {
        suspend: [refuse("aside")],
        resume: [refuse("aside")],
        stop: [refuse("aside")],
        terminate: [refuse("aside")],
        retry: [refuse("aside")],
        set: [refuse("aside")],
      },
    },
  },
};
