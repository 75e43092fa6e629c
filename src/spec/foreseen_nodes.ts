/**
 * How many nodes a workflow is sure to make when its steps succeed, as far as its manifest alone tells: loops whose length is
 * written, and templates that call each other without a condition. What depends on values counts as little as it can be.
 */
import type { DagTask, Sequence, StepLike, Template, WorkflowSpec } from "./manifest.ts";
import { SpecError } from "./spec_error.ts";

/** Deepest nesting of templates; a call below is one node that says so. */
export const MAX_DEPTH = 100;

/** Some calls of a template, or of something unknown. */
interface Calls {
  count: number;
  template: number | undefined;
}

/** A template's own nodes, and its calls. */
interface Body {
  own: number;
  calls: Calls[];
}

/** @throws {SpecError} when the workflow would have more nodes than it may have */
export function checkForeseenNodes(
  spec: Pick<WorkflowSpec, "templates">,
  entrypoint: string | undefined,
  most: number,
): void {
  const count = foreseenNodes(spec, entrypoint, most);
  if (count <= most) return;
  const text = count > Number.MAX_SAFE_INTEGER ? count.toExponential(1) : String(count);
  throw new SpecError(
    `templates.${entrypoint ?? ""} would make at least ${text} nodes: --max-nodes allows ${most}`,
  );
}

/**
 * Least number of nodes below the entrypoint, its own included. Exact up to `most`; what is more is told as soon as it is
 * sure. Work is proportional to the manifest, times the depth at which its templates call each other.
 */
export function foreseenNodes(
  { templates = [] }: Pick<WorkflowSpec, "templates">,
  entrypoint: string | undefined,
  most = Infinity,
): number {
  const places = new Map(templates.map(({ name }, at) => [name, at]));
  const entry = places.get(entrypoint ?? "");
  if (entry === undefined) return 0;
  const bodies: Body[] = templates.map(() => ({ own: 1, calls: [] }));
  for (const [at, template] of templates.entries()) bodies[at] = bodyOf(template, places, bodies);
  // Inline templates have been added behind the others. At the greatest depth each call is one node.
  let counts = bodies.map(() => 1);
  for (let depth = 0; depth < MAX_DEPTH; depth++) {
    const next = bodies.map(({ own, calls }) =>
      calls.reduce((sum, { count, template }) => {
        const each = template === undefined ? 1 : counts[template] ?? 1;
        return Math.min(sum + count * each, Number.MAX_VALUE);
      }, own)
    );
    const isSettled = next.every((count, at) => count === counts[at]);
    counts = next;
    if (isSettled || (counts[entry] ?? 0) > most) break;
  }
  return counts[entry] ?? 0;
}

function bodyOf(
  template: Template,
  places: ReadonlyMap<string | undefined, number>,
  bodies: Body[],
): Body {
  const { steps, dag, containerSet, retryStrategy } = template;
  const body: Body = { own: retryStrategy === undefined ? 1 : 2, calls: [] };
  const add = (step: StepLike, isSure: boolean) => {
    const count = lengthOf(step);
    if (isLoop(step) && dag !== undefined) body.own++;
    const isConditional = !isSure || (step.when ?? "") !== "";
    body.calls.push({
      // Without its turn a task is one node, however long its loop is.
      count: isSure ? count : 1,
      template: isConditional ? undefined : targetOf(step, places, bodies),
    });
  };
  for (const group of steps ?? []) {
    body.own++;
    for (const step of group) add(step, true);
  }
  for (const task of dag?.tasks ?? []) add(task, isSureToRun(task));
  body.own += containerSet?.containers?.length ?? 0;
  return body;
}

/** The template that a step calls; undefined when it is not to be known. */
function targetOf(
  { template, templateRef, inline }: StepLike,
  places: ReadonlyMap<string | undefined, number>,
  bodies: Body[],
): number | undefined {
  if (inline !== undefined) {
    const at = bodies.push({ own: 1, calls: [] }) - 1;
    bodies[at] = bodyOf(inline, places, bodies);
    return at;
  }
  return templateRef === undefined ? places.get(template) : undefined;
}

function isLoop(step: StepLike): boolean {
  return step.withItems !== undefined || step.withSequence !== undefined ||
    (step.withParam ?? "") !== "";
}

/** Elements of a loop, at least one node each; an empty or unknown one makes one. */
function lengthOf({ withItems, withSequence }: StepLike): number {
  if (Array.isArray(withItems)) return Math.max(1, withItems.length);
  return withSequence === undefined ? 1 : Math.max(1, sequenceLength(withSequence));
}

function sequenceLength({ count, start = 0, end }: Sequence): number {
  const length = end === undefined ? Number(count) : Math.abs(Number(end) - Number(start)) + 1;
  return Number.isFinite(length) ? length : 1;
}

/** Runs when those it depends on succeed, as all are taken to do. */
function isSureToRun({ depends = "" }: DagTask): boolean {
  return !/[!.|]/.test(depends.replaceAll(".Succeeded", ""));
}
