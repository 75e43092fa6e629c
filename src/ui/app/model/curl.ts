/** Commands to copy into a terminal. */
import type { SuppliedOutput } from "./supplied_outputs.ts";

/** A word of a POSIX shell. */
function shellWord(text: string): string {
  return /^[\w@%+=:,./-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`;
}

export interface WaitingStep {
  namespace: string;
  workflow: string;
  nodeId: string;
}

export interface CallTarget {
  /** Address of the server, without a slash at its end. */
  server: string;
  hasLogin: boolean;
}

/** Stands for a value that the caller has to write. */
const VALUE = "VALUE";
const MESSAGE = "MESSAGE";

function valuesOf(outputs: readonly SuppliedOutput[]): Record<string, string> {
  return Object.fromEntries(
    outputs.map(({ name, value, choices }) => [name, value || (choices[0] ?? VALUE)]),
  );
}

function call(
  { namespace, workflow, nodeId }: WaitingStep,
  verb: string,
  body: Record<string, string>,
  { server, hasLogin }: CallTarget,
): string {
  const url = `${server}/api/v1/workflows/${encodeURIComponent(namespace)}/` +
    `${encodeURIComponent(workflow)}/${verb}`;
  return [
    `curl -X PUT ${shellWord(url)}`,
    ...(hasLogin ? ['-H "Authorization: Bearer $TOKEN"'] : []),
    "-H 'Content-Type: application/json'",
    `-d ${shellWord(JSON.stringify({ nodeFieldSelector: `id=${nodeId}`, ...body }))}`,
  ].join(" \\\n  ");
}

/** The call that resumes a waiting step; before it the one that supplies its outputs, if it takes any. */
export function resumeCall(
  step: WaitingStep,
  outputs: readonly SuppliedOutput[],
  target: CallTarget,
): string {
  const resume = call(step, "resume", {}, target);
  if (outputs.length === 0) return resume;
  const outputParameters = JSON.stringify(valuesOf(outputs));
  return `${call(step, "set", { outputParameters }, target)} &&\n${resume}`;
}

/** The call that makes a waiting step fail. */
export function failCall(step: WaitingStep, target: CallTarget): string {
  return call(step, "stop", { message: MESSAGE }, target);
}

/** The same by URLs that need no login. */
export function resumeByUrl(url: string, outputs: readonly SuppliedOutput[]): string {
  const body = JSON.stringify({ outputs: valuesOf(outputs) });
  return `curl -X POST ${shellWord(url)}` + (outputs.length === 0 ? "" : ` -d ${shellWord(body)}`);
}

export function failByUrl(url: string): string {
  return `curl -X POST ${shellWord(url)} -d ${shellWord(JSON.stringify({ message: MESSAGE }))}`;
}
