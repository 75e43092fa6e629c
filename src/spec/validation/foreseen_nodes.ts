/**
 * How many nodes a workflow is certain to make if its steps succeed, judging by its manifest alone: loops whose length
 * is written there, and templates that call each other without a condition. What depends on values counts as the
 * smallest possible number.
 */
import { isLoop } from "../loops.ts";
import type { DagTask, Sequence, StepLike, Template, WorkflowSpec } from "../manifest.ts";
import { SpecError } from "../spec_error.ts";

/** Deepest nesting of templates; a deeper call makes one node that says so. */
export const MAX_DEPTH = 100;

/** A number of calls of a template, or of something unknown. */
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
 * Least number of nodes made by the entrypoint, including its own. It is exact up to `most`; a larger number is
 * returned as soon as it is certain to be larger. The work is proportional to the size of the manifest, times the depth
 * at which its templates call each other.
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
  // Inline templates were appended to the others. At the greatest depth, each call makes one node.
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
      // A task that is never reached is one node, however long its loop is.
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

/** The template that a step calls; undefined if it can't be known. */
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

/** Number of elements of a loop, each at least one node; an empty or unknown loop makes one node. */
function lengthOf({ withItems, withSequence }: StepLike): number {
  if (Array.isArray(withItems)) return Math.max(1, withItems.length);
  return withSequence === undefined ? 1 : Math.max(1, sequenceLength(withSequence));
}

function sequenceLength({ count, start = 0, end }: Sequence): number {
  const length = end === undefined ? Number(count) : Math.abs(Number(end) - Number(start)) + 1;
  return Number.isFinite(length) ? length : 1;
}

/** Tells whether a task runs if all tasks succeed. */
function isSureToRun({ depends = "" }: DagTask): boolean {
  return !/[!.|]/.test(depends.replaceAll(".Succeeded", ""));
}
