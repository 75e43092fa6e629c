/**
 * What clients may see of a workflow whose only step waits for somebody: the sequential reference model of the commands
 * on one workflow. The workflow in an answer is one that existed after the command and before the answer. The
 * consequences of the command (a step begins to wait, the workflow ends) happen by themselves, at once or a moment
 * later.
 */
import type { Workflow } from "../../src/spec/manifest.ts";
import type { Call, Model } from "./linearizability.ts";

export interface Gate {
  exists: boolean;
  phase: "" | "Running" | "Succeeded" | "Failed";
  /** Of the step; "" means that it does not exist yet. */
  step: "" | "Running" | "Succeeded" | "Failed";
  isSuspended: boolean;
  shutdown: "" | "Stop" | "Terminate";
}

/** Commands of the model; those with `-node` select the step. */
const GATE_COMMANDS = [
  "create",
  "get",
  "suspend",
  "resume",
  "resume-node",
  "stop",
  "stop-node",
  "terminate",
  "retry",
  "set-node-Succeeded",
  "set-node-Failed",
  "delete",
] as const;

export type GateCommand = typeof GATE_COMMANDS[number];

const NONE: Gate = { exists: false, phase: "", step: "", isSuspended: false, shutdown: "" };

/** Refusals that the model knows. */
export type Refusal =
  /** No such workflow. */
  | "absent"
  /** It exists already. */
  | "exists"
  /** The workflow has ended. */
  | "over"
  /** The selector matches no waiting step. */
  | "no step"
  /** Only a failed workflow can be retried. */
  | "not failed"
  /** It was deleted and made again while the request was in flight. */
  | "another";

/** Recognizes a refusal by its text. @throws {Error} if the model knows none like it */
export function refusalOf(message: string): Refusal {
  if (/no suspend nodes matching/.test(message)) return "no step";
  if (/cannot suspend completed|cannot shutdown a completed/.test(message)) return "over";
  if (/Cannot retry a workflow in phase|To retry a succeeded workflow/.test(message)) {
    return "not failed";
  }
  if (/has another uid/.test(message)) return "another";
  if (/already exists/.test(message)) return "exists";
  if (/not found/.test(message)) return "absent";
  throw new Error(`The model knows no refusal "${message}"`);
}

/** The state that an answer shows, in the model's form. */
function shown({ spec, status }: Workflow): string {
  const [step] = Object.values(status?.nodes ?? {});
  return textOf({
    exists: true,
    phase: (status?.phase ?? "") as Gate["phase"],
    step: (step?.phase ?? "") as Gate["step"],
    isSuspended: spec.suspend === true,
    shutdown: (spec.shutdown ?? "") as Gate["shutdown"],
  });
}

function textOf({ phase, step, isSuspended, shutdown }: Gate): string {
  return `phase=${phase} step=${step} suspend=${isSuspended} shutdown=${shutdown}`;
}

function isOver({ phase }: Gate): boolean {
  return phase === "Succeeded" || phase === "Failed";
}

/** What happens by itself. */
function drift(gate: Gate): Gate {
  if (!gate.exists || isOver(gate)) return gate;
  const next: Gate = { ...gate, phase: "Running" };
  if (next.shutdown !== "" && next.step === "Running") next.step = "Failed";
  if (next.isSuspended) return next;
  if (next.step === "") next.step = next.shutdown === "" ? "Running" : "Failed";
  if (next.step !== "Running") next.phase = next.step;
  return next;
}

/** Applies a command: returns the next state, or the refusal. */
function apply(gate: Gate, command: GateCommand): Gate | Refusal {
  if (command === "create") return gate.exists ? "exists" : { ...NONE, exists: true };
  if (!gate.exists) return "absent";
  switch (command) {
    case "get":
      return gate;
    case "delete":
      return NONE;
    case "suspend":
      return isOver(gate) ? "over" : { ...gate, isSuspended: true };
    case "stop":
      return isOver(gate) ? "over" : { ...gate, shutdown: "Stop" };
    case "terminate":
      return isOver(gate) ? "over" : { ...gate, shutdown: "Terminate" };
    case "retry":
      return gate.phase === "Failed"
        ? { ...gate, phase: "", step: "", shutdown: "" }
        : "not failed";
    case "resume": {
      const step = gate.step === "Running" ? "Succeeded" : gate.step;
      return { ...gate, isSuspended: false, step };
    }
    case "resume-node":
    case "set-node-Succeeded":
      return gate.step === "Running" ? { ...gate, step: "Succeeded" } : "no step";
    case "stop-node":
    case "set-node-Failed":
      return gate.step === "Running" ? { ...gate, step: "Failed" } : "no step";
  }
}

/** One command and its answer as calls of the model: the command itself, and the read of the workflow after it. */
export function gateCalls(
  input: GateCommand,
  answer: Workflow | Refusal | "done" | undefined,
  calledAt: number,
  heardAt: number,
): Call[] {
  if (typeof answer !== "object") return [{ input, output: answer, calledAt, heardAt }];
  const version = Number(answer.metadata.resourceVersion);
  const look = { input: "get", output: shown(answer), calledAt, heardAt, version };
  if (input === "get") return [look];
  const command = { input, output: "done", calledAt, heardAt };
  return [command, { ...look, after: command }];
}

/** The model for `checkLinearizable`. Outputs: a refusal, `done`, or for a `get` what it shows. */
export const gateModel: Model<Gate> = {
  initial: NONE,
  drift,
  isRead: ({ input, output }) => input === "get" || (output !== undefined && output !== "done"),
  step(gate, { input, output }: Call) {
    if (output === "another") return gate;
    const after = apply(gate, input as GateCommand);
    if (typeof after === "string") {
      return output === undefined || output === after ? gate : undefined;
    }
    if (output === undefined) return after;
    return output === (input === "get" ? textOf(after) : "done") ? after : undefined;
  },
};
