/** What is valid in a manifest, and has no effect or never comes true. */
import { headerMistakes } from "../expr/templates/header_mistakes.ts";
import type { WorkflowEventBinding, WorkflowSpec } from "./manifest.ts";
import type { AnyManifest } from "./schema/decode_manifest.ts";

/** One line for each thing that is written in vain, with its path. */
export function lintWarnings({ kind, manifest }: AnyManifest): string[] {
  switch (kind) {
    case "Workflow":
    case "WorkflowTemplate":
    case "ClusterWorkflowTemplate":
      return warningsAbout("spec", manifest.spec);
    case "CronWorkflow":
      return warningsAbout("spec.workflowSpec", manifest.spec.workflowSpec);
    case "WorkflowEventBinding":
      return bindingWarnings(manifest);
    default:
      return [];
  }
}

function warningsAbout(at: string, { templates = [] }: WorkflowSpec): string[] {
  return templates.flatMap(({ suspend, activeDeadlineSeconds }, index) =>
    suspend === undefined || activeDeadlineSeconds === undefined ? [] : [
      `${at}.templates[${index}].activeDeadlineSeconds has no effect on a suspend template, ` +
      "which waits until a call, its own duration or the deadline of the workflow ends it",
    ]
  );
}

function bindingWarnings({ spec: { event, submit } }: WorkflowEventBinding): string[] {
  const expressions = [["spec.event.selector", event.selector]];
  for (const { name, valueFrom } of submit?.arguments?.parameters ?? []) {
    const place = `spec.submit.arguments.parameters.${name}.valueFrom.event`;
    expressions.push([place, valueFrom?.event ?? ""]);
  }
  return expressions.flatMap(([place = "", source = ""]) =>
    headerMistakes(source).map((text) => `${place}: ${text}`)
  );
}
