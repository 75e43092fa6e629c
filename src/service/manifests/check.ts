/**
 * Whether a manifest is valid by the rules of the spec layer. A small one is checked at once. A large one takes longer, so it
 * is checked on a thread of its own and for a bounded time. What calls of templates cost beyond its size is bounded by the
 * rules themselves: where the thread can't be ended while it computes, as on Deno, it comes to its end soon.
 */
import { invalid, Problem, type ProblemCode, unavailable } from "../../base/problem.ts";
import { systemClock } from "../../platform/clock.ts";
import { JobTooLong, TooManyJobs, WorkThread } from "../../platform/work_thread.ts";
import type { CronWorkflow, Workflow, WorkflowTemplate } from "../../spec/manifest.ts";
import { CheckTooCostly } from "../../spec/validation/check_work.ts";
import type { TemplatePlace } from "../../spec/validation/owner.ts";
import {
  validateCronWorkflow,
  validateWorkflow,
  validateWorkflowTemplate,
  type ValidationContext,
  type ValidationOptions,
} from "../../spec/validation/validate.ts";
import { weightOf } from "../../spec/validation/weight.ts";

/** Up to this weight (see `weightOf`) a manifest is checked at once, which takes about ten milliseconds at most. */
const MAX_SMALL = 8_000;
/** How long the check of one manifest may take, ms. */
const CHECK_MS = 15_000;
/** How long the thread waits for the next one, ms. */
const IDLE_MS = 60_000;
const MAX_WAITING = 64;

/** A manifest, with the stored templates that it reaches, by `kind/namespace/name`. */
export type ManifestCheck =
  & {
    templates: ReadonlyMap<string, WorkflowTemplate | undefined>;
    options: ValidationOptions;
  }
  & (
    | { kind: "Workflow"; manifest: Workflow }
    | { kind: "WorkflowTemplate" | "ClusterWorkflowTemplate"; manifest: WorkflowTemplate }
    | { kind: "CronWorkflow"; manifest: CronWorkflow }
  );

/** Stored templates that must be loaded before a manifest can be checked: only its arguments name them. */
export class TemplatesNeeded extends Error {
  readonly places: readonly TemplatePlace[];

  constructor(places: readonly TemplatePlace[]) {
    super("the manifest reaches stored templates that are not loaded");
    this.name = "TemplatesNeeded";
    this.places = places;
  }
}

/** A thread for `checkManifest`. */
export function createCheckThread(): WorkThread {
  // The name of this module ends in .js in the built package.
  const extension = import.meta.url.slice(import.meta.url.lastIndexOf("."));
  const module = new URL(`./check_thread${extension}`, import.meta.url);
  const options = { jobMs: CHECK_MS, idleMs: IDLE_MS, maxWaiting: MAX_WAITING };
  return new WorkThread(module, options, systemClock);
}

/**
 * Checks a manifest.
 * @param thread checks large manifests; absent: they are checked here too
 * @throws {Problem} as the rules of its kind; Unavailable when too many manifests wait to be checked
 * @throws {TemplatesNeeded}
 */
export async function checkManifest(
  check: ManifestCheck,
  thread: WorkThread | undefined,
): Promise<void> {
  if (!checkSmall(check)) await checkLarge(check, thread);
}

/**
 * Checks a manifest that `checkSmall` leaves.
 * @param thread as of {@link checkManifest}
 * @throws {Problem} as that
 */
export async function checkLarge(
  check: ManifestCheck,
  thread: WorkThread | undefined,
): Promise<void> {
  if (thread === undefined) return checkNow(check);
  const { kind, manifest, options } = check;
  const asked: CheckMessage = { kind, manifest, options, templates: [...check.templates] };
  let answer: string;
  try {
    answer = await thread.run(JSON.stringify(asked));
  } catch (cause) {
    if (cause instanceof TooManyJobs) {
      throw unavailable("too many large manifests are being checked; try again");
    }
    if (!(cause instanceof JobTooLong)) throw cause;
    throw invalid(
      `the manifest takes longer than ${
        CHECK_MS / 1000
      } s to check; make it smaller: fewer steps, or fewer parameters`,
    );
  }
  const refusal = JSON.parse(answer) as Refusal | null;
  if (refusal === null) return;
  if ("needed" in refusal) throw new TemplatesNeeded(refusal.needed);
  if ("defect" in refusal) throw new Error(refusal.defect);
  throw new Problem(refusal.code, refusal.message, { status: refusal.status });
}

/**
 * Checks a manifest here if it and what it reaches are checked in no time.
 * @returns whether it was checked. Else `checkLarge` does it
 * @throws {Problem} as the rules of its kind
 * @throws {TemplatesNeeded}
 */
export function checkSmall(check: ManifestCheck): boolean {
  const { manifest: { metadata, spec }, templates } = check;
  if (isLarge(spec, [metadata, ...templates.values()])) return false;
  try {
    checkNow(check, true);
    return true;
  } catch (error) {
    if (error instanceof CheckTooCostly) return false;
    throw error;
  }
}

/** Tells whether work on a spec and what belongs to it, such as the stored templates that it reaches, may take long. */
export function isLarge(spec: unknown, others: Iterable<unknown> = []): boolean {
  let left = MAX_SMALL - weightOf(spec, MAX_SMALL);
  for (const other of others) {
    if (left < 0) return true;
    left -= weightOf(other, left);
  }
  return left < 0;
}

/** A check as text for the thread. */
interface CheckMessage {
  kind: ManifestCheck["kind"];
  manifest: ManifestCheck["manifest"];
  options: ValidationOptions;
  templates: [key: string, template: WorkflowTemplate | undefined][];
}

/** The thread's answer when a rule is broken, when templates are missing, or when it meets a defect. */
type Refusal =
  | { code: ProblemCode; status: number; message: string }
  | { needed: readonly TemplatePlace[] }
  | { defect: string };

/** Answers a check on the thread. */
export function answerCheck(text: string): string {
  const { templates, ...asked } = JSON.parse(text) as CheckMessage;
  // JSON turned undefined into null.
  const found = templates.map(([key, one]) => [key, one ?? undefined] as const);
  try {
    checkNow({ ...asked, templates: new Map(found) } as ManifestCheck);
    return "null";
  } catch (error) {
    const refusal: Refusal = error instanceof Problem
      ? { code: error.code, status: error.status, message: error.message }
      : error instanceof TemplatesNeeded
      ? { needed: error.places }
      : { defect: error instanceof Error ? error.stack ?? error.message : String(error) };
    return JSON.stringify(refusal);
  }
}

/** @throws {Problem} as the rules of its kind; {@link TemplatesNeeded}, whatever else is wrong */
function checkNow(check: ManifestCheck, isShort = false): void {
  const { templates } = check;
  let needed: Map<string, TemplatePlace> | undefined;
  const context: ValidationContext = {
    isShort,
    findTemplate: (kind, namespace, name) => templates.get(`${kind}/${namespace}/${name}`),
    isUnknown(...place) {
      const key = place.join("/");
      if (templates.has(key)) return false;
      (needed ??= new Map()).set(key, place);
      return true;
    },
  };
  try {
    checkByKind(check, context);
  } catch (error) {
    if (needed === undefined || !(error instanceof Problem)) throw error;
  }
  if (needed !== undefined) throw new TemplatesNeeded([...needed.values()]);
}

function checkByKind(check: ManifestCheck, context: ValidationContext): void {
  const { options } = check;
  switch (check.kind) {
    case "Workflow":
      return validateWorkflow(check.manifest, context, options);
    case "WorkflowTemplate":
    case "ClusterWorkflowTemplate":
      return validateWorkflowTemplate(check.manifest, check.kind, context, options);
    case "CronWorkflow":
      return validateCronWorkflow(check.manifest, context, options);
  }
}
