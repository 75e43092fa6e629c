/** Parameters that come with the request to run a workflow again. */
import { invalid } from "../../base/problem.ts";
import type { Parameter, WorkflowSpec } from "../../spec/manifest.ts";

/** Reads texts `name=value`. @throws {Problem} InvalidArgument when one has no `=` */
export function parseParameters(texts: readonly string[]): Parameter[] {
  return texts.map((text) => {
    const at = text.indexOf("=");
    if (at < 0) throw invalid(`expected parameter of the form: NAME=VALUE. Received: ${text}`);
    return { name: text.slice(0, at), value: text.slice(at + 1) };
  });
}

/** A spec with these arguments in place of those with the same names. They come first. */
export function withParameters(spec: WorkflowSpec, given: readonly Parameter[]): WorkflowSpec {
  if (given.length === 0) return spec;
  const names = new Set(given.map(({ name }) => name));
  const kept = (spec.arguments?.parameters ?? []).filter(({ name }) => !names.has(name));
  return { ...spec, arguments: { ...spec.arguments, parameters: [...given, ...kept] } };
}
