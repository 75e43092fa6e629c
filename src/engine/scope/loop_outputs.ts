/** What the elements of a loop have left, as lists. Worked out once, when the loop has ended. */
import { errorText } from "../../base/error_text.ts";
import { addTo } from "../../base/table.ts";
import { isLoop } from "../../spec/loops.ts";
import type { StepLike } from "../../spec/manifest.ts";
import { NodeFailure } from "../failure.ts";
import type { NodeRecord } from "../records.ts";
import { type LoopOutputs, membersOf, memoryOf } from "../live.ts";
import { compactJson } from "./expressions.ts";
import { listOfJsonTexts, listOfValues } from "./raw_json.ts";

/**
 * The outputs of the elements that succeeded, in this run or a former one. They are kept, so the group must have ended.
 * @throws {NodeFailure} when a result is not JSON
 */
export function loopOutputs({ node, step }: { node: NodeRecord; step: StepLike }): LoopOutputs {
  const memory = memoryOf(node);
  const known = memory.aggregates?.get(step.name);
  if (known !== undefined) return known;
  const elements = membersOf(node)
    .filter((element) =>
      element.step === step.name && element.index !== undefined && element.role === "member"
    )
    .sort((a, b) => (a.index ?? 0) - (b.index ?? 0));
  // One that was skipped because a former run has its results has them, too.
  const made = aggregateOf(
    elements.filter(({ phase, outputs }) =>
      phase === "Succeeded" || (phase === "Skipped" && outputs !== undefined)
    ),
  );
  memory.aggregates ??= new Map();
  memory.aggregates.set(step.name, made);
  return made;
}

/** What a loop over an empty list, which is skipped, has for each of its outputs; undefined for any other step. */
export function emptyLoopOutput(
  { node, step }: { node: NodeRecord; step: StepLike },
): string | undefined {
  return isLoop(step) && node.phase === "Skipped" ? "[]" : undefined;
}

function aggregateOf(elements: readonly NodeRecord[]): LoopOutputs {
  const results: string[] = [];
  const all: Record<string, string>[] = [];
  const values = new Map<string, string[]>();
  for (const { outputs } of elements) {
    if (outputs?.result !== undefined) results.push(outputs.result);
    const parameters = outputs?.parameters ?? [];
    if (parameters.length === 0) continue;
    all.push(Object.fromEntries(parameters.map(({ name, value }) => [name, value ?? ""])));
    for (const { name, value } of parameters) addTo(values, name, value ?? "");
  }
  const parameters = new Map<string, string>();
  for (const [name, list] of values) {
    parameters.set(name, listOfValues(list));
  }
  try {
    return { result: listOfJsonTexts(results), all: compactJson(all), parameters };
  } catch (error) {
    throw new NodeFailure(errorText(error));
  }
}
