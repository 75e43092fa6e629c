/** What is accepted in a manifest, and has no effect, never comes true, or ends a step in an error. */
import { defined } from "../base/defined.ts";
import { errorText } from "../base/error_text.ts";
import { subdomainProblem } from "../expr/selectors/label_selector.ts";
import { headerMistakes } from "../expr/templates/header_mistakes.ts";
import { cronClock, isTimeZone, nextDue, parseSchedule } from "./cron_schedule.ts";
import { durationMs } from "./duration.ts";
import { expressionWarnings } from "./expression_warnings.ts";
import type {
  CronWorkflow,
  ObjectMeta,
  Template,
  WorkflowEventBinding,
  WorkflowSpec,
} from "./manifest.ts";
import type { AnyManifest } from "./schema/decode_manifest.ts";

/** One line for each thing that is written in vain, with its path. */
export function lintWarnings(any: AnyManifest): string[] {
  return [...nameWarnings(any.manifest.metadata), ...kindWarnings(any)];
}

/** The name is looked at when an object is stored, and a check stores none. */
function nameWarnings({ name = "", generateName = "" }: ObjectMeta): string[] {
  // A dash at the end of the prefix is no mistake.
  const names = { name, generateName: generateName.replace(/.-$/, "a") };
  const given = { name, generateName };
  return (["name", "generateName"] as const).flatMap((field) => {
    const problem = names[field] === "" ? undefined : subdomainProblem(names[field]);
    return problem === undefined
      ? []
      : [`metadata.${field}: a server refuses ${JSON.stringify(given[field])}: ${problem}`];
  });
}

function kindWarnings({ kind, manifest }: AnyManifest): string[] {
  switch (kind) {
    case "Workflow":
    case "WorkflowTemplate":
    case "ClusterWorkflowTemplate":
      return warningsAbout("spec", manifest.spec);
    case "CronWorkflow":
      return [
        ...scheduleWarnings(manifest),
        ...runWarnings(manifest),
        ...warningsAbout("spec.workflowSpec", manifest.spec.workflowSpec),
      ];
    case "WorkflowEventBinding":
      return bindingWarnings(manifest);
    default:
      return [];
  }
}

function warningsAbout(at: string, spec: WorkflowSpec): string[] {
  const { templates = [], templateDefaults = {}, retryStrategy } = spec;
  return [
    ...settingWarnings(at, defined({ retryStrategy })),
    ...settingWarnings(`${at}.templateDefaults`, templateDefaults),
    ...templates.flatMap((template, index) =>
      templateWarnings(`${at}.templates[${index}]`, template)
    ),
    ...expressionWarnings(at, spec),
    ...hookWarnings(at, spec),
  ];
}

/** The template of a hook is looked for when the hook begins: perhaps when all else has succeeded. */
function hookWarnings(at: string, { hooks, templates = [], workflowTemplateRef }: WorkflowSpec) {
  if (workflowTemplateRef !== undefined) return [];
  const known = new Set(templates.map(({ name }) => name));
  const found: string[] = [];
  const look = (place: string, hooks: WorkflowSpec["hooks"] = {}) => {
    for (const [name, { template = "" }] of Object.entries(hooks)) {
      if (template === "" || template.includes("{{") || known.has(template)) continue;
      const text = `there is no template ${JSON.stringify(template)}, so the hook ends in an error`;
      found.push(`${place}.hooks.${name}.template: ${text}`);
    }
  };
  look(at, hooks);
  for (const [index, { steps = [], dag }] of templates.entries()) {
    const place = `${at}.templates[${index}]`;
    for (const [group, parts] of steps.entries()) {
      for (const [at, step] of parts.entries()) look(`${place}.steps[${group}][${at}]`, step.hooks);
    }
    for (const [at, task] of (dag?.tasks ?? []).entries()) {
      look(`${place}.dag.tasks[${at}]`, task.hooks);
    }
  }
  return found;
}

function templateWarnings(at: string, template: Template): string[] {
  const warnings = settingWarnings(at, template);
  if (template.suspend !== undefined && template.activeDeadlineSeconds !== undefined) {
    warnings.push(
      `${at}.activeDeadlineSeconds has no effect on a suspend template, ` +
        "which waits until a call, its own duration or the deadline of the workflow ends it",
    );
  }
  return warnings;
}

/** Durations and limits are read when a step needs them, so a mistake would show late: perhaps after a job was started. */
function settingWarnings(
  at: string,
  { suspend, timeout, pendingTimeout, retryStrategy, memoize }: Partial<Template>,
): string[] {
  const limit = String(retryStrategy?.limit ?? "");
  const limitWarnings = /^-?\d*$/.test(limit) || limit.includes("{{") ? [] : [
    `${at}.retryStrategy.limit ends its step in an error: ${
      JSON.stringify(limit)
    } is not a whole number`,
  ];
  const durations = {
    "suspend.duration": suspend?.duration,
    timeout,
    pendingTimeout,
    "retryStrategy.backoff.duration": retryStrategy?.backoff?.duration,
    "retryStrategy.backoff.maxDuration": retryStrategy?.backoff?.maxDuration,
    "retryStrategy.backoff.cap": retryStrategy?.backoff?.cap,
    "memoize.maxAge": memoize?.maxAge,
  };
  const warnings = Object.entries(durations).flatMap(([name, text = ""]) => {
    if (text === "" || text.includes("{{")) return [];
    try {
      durationMs(text);
      return [];
    } catch (error) {
      const how = "write seconds, or hours, minutes and seconds, such as 720h or 1h30m";
      return [`${at}.${name} ends its step in an error: ${errorText(error)}; ${how}`];
    }
  });
  return [...warnings, ...limitWarnings];
}

/** A condition that can't be read lets no run begin. */
function runWarnings({ spec: { when, stopStrategy } }: CronWorkflow): string[] {
  return expressionWarnings("spec", defined({ when, stopStrategy }));
}

/** The validation reports schedules and zones that can't be read. */
function scheduleWarnings(cron: CronWorkflow): string[] {
  const clock = cronClock(cron);
  if (!isTimeZone(clock.timeZone)) return [];
  return (cron.spec.schedules ?? []).flatMap((text, index) => {
    try {
      const isNever = nextDue(parseSchedule(text), 0, clock) === undefined;
      return isNever ? [`spec.schedules[${index}] is never due: no date fits "${text}"`] : [];
    } catch {
      return [];
    }
  });
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
