/** Which finished tasks the label selector of `podGC` chooses, by the labels of their pods. */
import { isJsonObject, type JsonObject } from "../../base/json.ts";
import { completedLabel } from "../../spec/naming.ts";
import { type LabelTerm, matchesLabels } from "../scope/expressions.ts";
import type { TaskSpec } from "../effect.ts";
import { executedSpec } from "../state.ts";
import type { Turn } from "../turn.ts";

const OPERATORS: Readonly<Record<string, LabelTerm["operator"]>> = {
  In: "in",
  NotIn: "notin",
  Exists: "exists",
  DoesNotExist: "!exists",
};

/** Tells whether a finished task may be removed. `findTask` is called only when there is a selector. */
export function isChosenByPodGc(turn: Turn, findTask: () => TaskSpec): boolean {
  const { podGC } = executedSpec(turn.state);
  const terms = termsOf(podGC?.labelSelector ?? {});
  if (terms.length === 0) return true;
  const { template, podSpec, workflow } = findTask();
  return matchesLabels(terms, {
    ...podLabels(podSpec.podMetadata),
    ...podLabels(template.metadata),
    [`${turn.env.labelPrefix}workflow`]: workflow,
    [completedLabel(turn.env)]: "true",
  });
}

function podLabels(metadata: { labels?: unknown } | undefined): Record<string, string> {
  return isJsonObject(metadata?.labels) ? metadata.labels as Record<string, string> : {};
}

/** Terms of a label selector in its object form, which validation has checked. */
function termsOf({ matchLabels, matchExpressions }: JsonObject): LabelTerm[] {
  const equal = Object.entries(isJsonObject(matchLabels) ? matchLabels : {}).map(
    ([key, value]): LabelTerm => ({ key, operator: "=", values: [String(value)] }),
  );
  const others = (Array.isArray(matchExpressions) ? matchExpressions : []).filter(isJsonObject)
    .map(({ key, operator, values }): LabelTerm => ({
      key: String(key),
      operator: OPERATORS[String(operator)] ?? "exists",
      values: Array.isArray(values) ? values.map(String) : [],
    }));
  return [...equal, ...others];
}
