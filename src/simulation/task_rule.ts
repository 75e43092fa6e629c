/**
 * What tasks do in a simulation. A rule says how a task ends and what it leaves. This file makes of that the report that an
 * executor would send.
 */
import type { TaskOutcome } from "../engine/command.ts";
import type { TaskSpec } from "../engine/effect.ts";
import type { Artifact, Parameter } from "../spec/manifest.ts";

/** How the tasks that the rule fits behave. */
export interface TaskRule {
  /** Regular expression that matches somewhere in the full name of the node. Absent: fits every task. */
  node?: string;
  /** The node's display name. */
  name?: string;
  /** Name of the node's template. */
  template?: string;
  /** Only the n-th start of a node with the same full name, from 1. */
  attempt?: number;
  /** `Hang` runs for ever, `Pending` never starts. @default {"Succeeded"}, and `Hang` for daemons */
  outcome?: "Succeeded" | "Failed" | "Error" | "Hang" | "Pending";
  /** Seconds from running to the end. @default {1} */
  after?: number;
  exitCode?: number;
  /** Failure text. */
  message?: string;
  /** Standard output, or the body of an answer. */
  result?: string;
  /** Contents of the files of output parameters, by name. */
  parameters?: Record<string, string>;
}

/** One started task. Times are epoch ms. */
export interface Job {
  workflow: string;
  task: TaskSpec;
  /** Which start of a node with this name it is, from 1. */
  attempt: number;
  createdAt: number;
  runningAt?: number;
}

/** What executors report of a task whose deadline is over. */
export const LATE: TaskOutcome = {
  phase: "Failed",
  message: "Pod was active on the node longer than the specified deadline",
  isLate: true,
};

/** The first rule that fits a task; an empty rule when none fits. */
export function ruleOf(rules: readonly TaskRule[], job: Job): TaskRule {
  const { nodeName, displayName } = job.task;
  return rules.find(({ node, name, template, attempt }) =>
    (node === undefined || new RegExp(node).test(nodeName)) &&
    (name === undefined || name === displayName) &&
    (template === undefined || template === job.task.template.name) &&
    (attempt === undefined || attempt === job.attempt)
  ) ?? {};
}

/**
 * What the executor reports for a task that ends now.
 *
 * @param leavesArtifacts a task that succeeds leaves every output artifact
 */
export function taskOutcome(
  { task }: Job,
  rule: TaskRule,
  phase: TaskOutcome["phase"],
  leavesArtifacts: boolean,
): TaskOutcome {
  const { template } = task;
  if (template.http !== undefined) {
    return {
      phase,
      ...(rule.message === undefined ? {} : { message: rule.message }),
      outputs: { result: rule.result ?? "" },
    };
  }
  const exitCode = String(rule.exitCode ?? (phase === "Failed" ? 1 : 0));
  const containers = template.containerSet?.containers;
  const hasMain = containers === undefined || containers.some(({ name }) => name === "main");
  const parameters = outputParameters(task, rule, phase);
  const artifacts = leavesArtifacts && phase === "Succeeded" ? outputArtifacts(task) : [];
  return {
    phase,
    message: failureText(rule, phase, containers?.[0]?.name ?? "main", exitCode),
    outputs: {
      ...(parameters.length === 0 ? {} : { parameters }),
      ...(artifacts.length === 0 ? {} : { artifacts }),
      ...(task.includeResult ? { result: rule.result ?? "" } : {}),
      ...(hasMain ? { exitCode } : {}),
    },
    ...(containers === undefined ? {} : {
      containers: Object.fromEntries(
        containers.map(({ name = "" }) => [name, containerOutcome(name, phase, exitCode)]),
      ),
    }),
  };
}

/** What becomes of a container of a set. When the pod as a whole has an error, it has still ended with its exit code. */
function containerOutcome(name: string, phase: TaskOutcome["phase"], exitCode: string) {
  const hasFailed = phase === "Failed" || (phase === "Error" && exitCode !== "0");
  return hasFailed
    ? { phase: "Failed" as const, message: `${name}: Error (exit code ${exitCode}): ` }
    : { phase: "Succeeded" as const };
}

function failureText(
  { message }: TaskRule,
  phase: TaskOutcome["phase"],
  container: string,
  exitCode: string,
): string {
  switch (phase) {
    case "Succeeded":
      return "";
    case "Error":
      return `wait: Error (exit code 1)${message === undefined ? "" : `: ${message}`}`;
    case "Failed":
      return message ?? `${container}: Error (exit code ${exitCode})`;
  }
}

function outputParameters(
  { template }: TaskSpec,
  rule: TaskRule,
  phase: TaskOutcome["phase"],
): Parameter[] {
  return (template.outputs?.parameters ?? []).flatMap((parameter): Parameter[] => {
    if (parameter.valueFrom?.path === undefined) {
      return parameter.value === undefined ? [] : [parameter];
    }
    const value = rule.parameters?.[parameter.name] ?? parameter.valueFrom.default;
    if (value === undefined) {
      return phase === "Succeeded" ? [{ ...parameter, value: "" }] : [parameter];
    }
    return [{ ...parameter, value }];
  });
}

function outputArtifacts({ template, artifactPrefix }: TaskSpec): Artifact[] {
  return (template.outputs?.artifacts ?? []).map((artifact) => ({
    s3: { key: `${artifactPrefix}/${artifact.name}.tgz` },
    ...artifact,
  }));
}
