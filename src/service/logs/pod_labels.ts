/** The labels of the pods of steps, by which clients select log lines. */
import { type LabelTerm, matchesLabels } from "../../expr/selectors/label_selector.ts";
import { scopeOf } from "../../expr/language/scope.ts";
import { mayHoldTag } from "../../expr/templates/tags.ts";
import { substitute, TemplateError } from "../../expr/templates/template.ts";
import type { NodeStatus, Parameter, Template, Workflow } from "../../spec/manifest.ts";

type Labels = Readonly<Record<string, string>>;

/**
 * Tells which nodes have pods with the selected labels, on every executor: of those that a pod gets, the ones of the manifest
 * and those that name its workflow. Expressions and tags that only the running step knew stay as they are written.
 */
export function podLabelTest(
  workflow: Workflow,
  terms: readonly LabelTerm[],
  labelPrefix: string,
): (node: NodeStatus) => boolean {
  if (terms.length === 0) return () => true;
  const { metadata: { name = "" }, status } = workflow;
  const spec = status?.storedWorkflowTemplateSpec ?? workflow.spec;
  const known = { ...variablesOf(workflow), ...parametersOf("workflow", spec.arguments) };
  return (node) => {
    const isOver = (node.finishedAt ?? null) !== null;
    const written: Labels = {
      ...spec.templateDefaults?.metadata?.labels,
      ...templateOf(workflow, node)?.metadata?.labels,
    };
    return matchesLabels(terms, {
      ...filled({ ...spec.podMetadata?.labels, ...written }, known, node),
      [`${labelPrefix}workflow`]: name,
      [`${labelPrefix}completed`]: String(isOver),
    });
  };
}

function filled(labels: Labels, known: Labels, node: NodeStatus): Labels {
  if (!mayHoldTag(labels)) return labels;
  const scope = scopeOf({ ...known, ...parametersOf("inputs", node.inputs) });
  try {
    return substitute(labels, scope, { missing: "keep" });
  } catch (error) {
    if (error instanceof TemplateError) return labels;
    throw error;
  }
}

function variablesOf({ metadata: { name = "", namespace = "", uid = "" } }: Workflow): Labels {
  return { "workflow.name": name, "workflow.namespace": namespace, "workflow.uid": uid };
}

function parametersOf(
  root: "workflow" | "inputs",
  holder: { parameters?: readonly Parameter[] } | undefined,
): Labels {
  const parameters = holder?.parameters ?? [];
  return Object.fromEntries(
    parameters.flatMap(({ name, value }) =>
      value === undefined ? [] : [[`${root}.parameters.${name}`, value]]
    ),
  );
}

/** The template of a node; undefined for one that is written in its step. */
function templateOf({ spec, status }: Workflow, node: NodeStatus): Template | undefined {
  const { templateRef: ref, templateName, templateScope = "" } = node;
  const key = ref === undefined
    ? `${templateScope}/${templateName}`
    : `${ref.clusterScope === true ? "cluster" : "namespaced"}/${ref.name}/${ref.template}`;
  const own = (status?.storedWorkflowTemplateSpec ?? spec).templates;
  return status?.storedTemplates?.[key] ?? own?.find(({ name }) => name === templateName);
}
