/** Pure: which tasks need the wrapper, and which images it must know the command of. */
import type { TaskSpec } from "../../engine/effect.ts";
import type { Artifact, Template } from "../../spec/manifest.ts";
import { planPod } from "./pod_plan.ts";
import { progressAnnotation } from "./pod_marks.ts";

/** True when something but the exit code is wanted of the task, or brought to it. */
export function needsWrapper({ template, includeResult }: TaskSpec, labelPrefix: string): boolean {
  const { inputs, outputs, containerSet } = template;
  return includeResult || containerSet !== undefined || tellsProgress(template, labelPrefix) ||
    (inputs?.artifacts ?? []).some(hasPath) || (outputs?.artifacts ?? []).some(hasPath) ||
    (outputs?.parameters ?? []).some((parameter) => parameter.valueFrom?.path !== undefined);
}

/** Images whose own command must be known to make the pod. */
export function imagesWithoutCommand(task: TaskSpec, labelPrefix: string): string[] {
  if (!needsWrapper(task, labelPrefix)) return [];
  const mains = planPod(task).containers.filter(({ role }) => role === "main");
  return [
    ...new Set(
      mains.filter(({ spec }) => (spec.command ?? []).length === 0).map(({ spec }) =>
        spec.image ?? ""
      ),
    ),
  ];
}

/** True for a template that says so by the progress annotation, or whose command or script names the variable. */
function tellsProgress(
  { metadata, container, script }: Template,
  labelPrefix: string,
): boolean {
  if (metadata?.annotations?.[progressAnnotation(labelPrefix)] !== undefined) return true;
  const { command = [], args = [] } = container ?? script ?? {};
  return [...command, ...args, script?.source ?? ""].some((text) =>
    text.includes("ARGO_PROGRESS_FILE")
  );
}

function hasPath(artifact: Artifact): boolean {
  return artifact.path !== undefined;
}
