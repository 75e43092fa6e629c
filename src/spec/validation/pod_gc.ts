/** Rules for the removal of finished pods. */
import { labelKeyProblems, labelValueProblems } from "../../expr/selectors/label_selector.ts";
import { isJsonObject, type JsonObject } from "../../base/json.ts";
import type { WorkflowSpec } from "../manifest.ts";
import { SpecError } from "../spec_error.ts";

const STRATEGIES = [
  "",
  "OnPodCompletion",
  "OnPodSuccess",
  "OnWorkflowCompletion",
  "OnWorkflowSuccess",
];
const OPERATORS = ["In", "NotIn", "Exists", "DoesNotExist"];

/** @throws {SpecError} */
export function checkPodGc(spec: WorkflowSpec): void {
  const strategy = spec.podGC?.strategy ?? "";
  if (!STRATEGIES.includes(strategy)) {
    throw new SpecError(`podGC.strategy unknown strategy '${strategy}'`);
  }
  const problem = selectorProblem(spec.podGC?.labelSelector ?? {});
  if (problem !== undefined) throw new SpecError(`podGC.labelSelector invalid: ${problem}`);
}

/** What is wrong with a label selector in its object form. */
function selectorProblem(selector: JsonObject): string | undefined {
  const labels = isJsonObject(selector.matchLabels) ? selector.matchLabels : {};
  for (const [key, value] of Object.entries(labels)) {
    const problem = labelProblem(key, [String(value)]);
    if (problem !== undefined) return problem;
  }
  const terms = Array.isArray(selector.matchExpressions) ? selector.matchExpressions : [];
  for (const term of terms) {
    if (!isJsonObject(term)) continue;
    const operator = String(term.operator ?? "");
    if (!OPERATORS.includes(operator)) {
      return `${JSON.stringify(operator)} is not a valid label selector operator`;
    }
    const values = Array.isArray(term.values) ? term.values.map(String) : [];
    const takesValues = operator === "In" || operator === "NotIn";
    if (takesValues && values.length === 0) {
      return "values: Invalid value: []: for 'in', 'notin' operators, values set can't be empty";
    }
    if (!takesValues && values.length > 0) {
      return `values: Invalid value: [${
        values.join(" ")
      }]: values set must be empty for exists and does not exist`;
    }
    const problem = labelProblem(String(term.key ?? ""), values);
    if (problem !== undefined) return problem;
  }
  return undefined;
}

function labelProblem(key: string, values: readonly string[]): string | undefined {
  const [keyProblem] = labelKeyProblems(key);
  if (keyProblem !== undefined) return `key: Invalid value: ${JSON.stringify(key)}: ${keyProblem}`;
  for (const value of values) {
    const [problem] = labelValueProblems(value);
    if (problem !== undefined) {
      return `values[0][${key}]: Invalid value: ${JSON.stringify(value)}: ${problem}`;
    }
  }
  return undefined;
}
