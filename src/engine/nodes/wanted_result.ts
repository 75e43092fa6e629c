/** Who wants the result of a node: its standard output is kept only when a text refers to it. */
import type { Template } from "../../spec/manifest.ts";
import { frameOf } from "../scope/call.ts";
import type { NodeRecord } from "../records.ts";
import type { Turn } from "../turn.ts";

/** Tells whether a text of the template around a node refers to its `outputs.result`. Nothing can refer to that of a hook. */
export function isResultWanted(
  turn: Turn,
  boundary: NodeRecord | undefined,
  step: string | undefined,
  flag: { hooked?: boolean } | undefined,
): boolean {
  if (boundary === undefined || step === undefined || flag?.hooked === true) return false;
  const frame = frameOf(turn, boundary);
  frame.wantedResults ??= resultReferences(frame.template);
  return frame.wantedResults.has(step);
}

const RESULT = new RegExp(
  String.raw`(?:steps|tasks)(?:\.([-\w]+)|\[\\*['"]([-\w]+)\\*['"]\])\??` +
    String.raw`(?:\.outputs|\[\\*['"]outputs\\*['"]\])\??(?:\.result|\[\\*['"]result\\*['"]\])`,
  "g",
);

/** Names of steps and tasks to whose result a text refers. */
function resultReferences(template: Template): ReadonlySet<string> {
  const names = new Set<string>();
  for (const [, dotted, quoted] of JSON.stringify(template).matchAll(RESULT)) {
    names.add(dotted ?? quoted ?? "");
  }
  return names;
}
