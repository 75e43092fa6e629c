/** What can be done with a workflow in its state. The server decides in the end; this keeps buttons away that it would refuse. */
import type { Workflow } from "../../../spec/manifest.ts";
import { phaseOf } from "./phases.ts";

export const VERBS = [
  "suspend",
  "resume",
  "stop",
  "terminate",
  "retry",
  "resubmit",
  "delete",
] as const;
export type Verb = typeof VERBS[number];

/** Tells whether the state of a workflow allows it. */
export function allows({ spec, status }: Pick<Workflow, "spec" | "status">, verb: Verb): boolean {
  const phase = phaseOf({ ...(status !== undefined && { status }) });
  const isOpen = phase === "Pending" || phase === "Running";
  switch (verb) {
    case "suspend":
      return isOpen && spec?.suspend !== true;
    case "resume":
      return isOpen && spec?.suspend === true;
    case "stop":
    case "terminate":
      return isOpen;
    case "retry":
      return phase === "Failed" || phase === "Error";
    case "resubmit":
    case "delete":
      return true;
  }
}

/** Verbs that can't be undone: the page asks before. A resume lets steps go on that wait for somebody's approval. */
export const NEEDS_CONSENT: ReadonlySet<Verb> = new Set(["resume", "stop", "terminate", "delete"]);
