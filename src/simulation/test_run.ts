/** Runs one workflow test in a simulation of its own. */
import type { Json } from "../base/json.ts";
import { invalid, Problem } from "../base/problem.ts";
import type { ControlRequest } from "../engine/command.ts";
import { durationMs } from "../spec/duration.ts";
import { rfc3339 } from "../engine/scope/time_text.ts";
import { durationText } from "../expr/values/go_duration.ts";
import type { AnyManifest } from "../spec/schema/decode_manifest.ts";
import { templateFinder } from "../spec/lint.ts";
import type { Parameter, Workflow } from "../spec/manifest.ts";
import { cronLabel, scheduledTimeAnnotation, STANDARD_NAMING } from "../spec/naming.ts";
import { validateWorkflow } from "../spec/validation/validate.ts";
import { unmetExpectations } from "./expectation.ts";
import {
  Simulation,
  SIMULATION_NAMESPACE,
  SIMULATION_START,
  type SimulationOptions,
} from "./simulation.ts";
import type { TaskRule } from "./task_rule.ts";
import { type TestAction, type TestTask, textOf, type WorkflowTest } from "./test_file.ts";

/** What became of one test. */
export interface TestResult {
  name: string;
  /** One line for each expectation that is not met. Empty: the test has passed. */
  failures: string[];
  /** The workflow at the end; absent when it was refused. */
  workflow?: Workflow;
}

/** After so many moments at which something happens, a test counts as endless. */
const MAX_MOMENTS = 5_000;

/** Kinds of manifests that can be tested, the preferred one first. */
const RUNNABLE = ["Workflow", "CronWorkflow", "WorkflowTemplate", "ClusterWorkflowTemplate"];

/**
 * The manifest that is tested: the first Workflow, or the first manifest from which one can be made.
 * @throws {Problem} InvalidArgument when there is none
 */
export function testedManifest(manifests: readonly AnyManifest[]): AnyManifest {
  for (const kind of RUNNABLE) {
    const found = manifests.find((manifest) => manifest.kind === kind);
    if (found !== undefined) return found;
  }
  throw invalid(`workflow holds none of ${RUNNABLE.join(", ")}`);
}

/**
 * Runs one test.
 *
 * @param tested the manifest that is run
 * @param others manifests to which it may refer. Workflows among them are submitted first and run beside it
 * @throws {Problem} InvalidArgument when the test itself is wrong
 */
export function runTest(
  test: WorkflowTest,
  tested: AnyManifest,
  others: readonly AnyManifest[],
  options: Pick<SimulationOptions, "isForgetful"> = {},
): TestResult {
  const { name, expect } = test;
  const simulation = new Simulation({
    rules: (test.tasks ?? []).map(ruleFrom),
    isLikeExecutors: true,
    ...options,
  });
  const all = [...others, tested];
  for (const manifest of all) addManifest(simulation, manifest);
  const workflow = withArguments(workflowOf(tested), test.parameters ?? {});
  const refusal = refusalOf(() => {
    for (const other of others) {
      if (other.kind === "Workflow") submit(simulation, workflowOf(other), all);
    }
    submit(simulation, workflow, all);
  });
  if (refusal !== undefined || expect.refused !== undefined) {
    return { name, failures: refusalFailures("refused", expect.refused, refusal) };
  }
  let running = workflow.metadata.name ?? "";
  const failures: string[] = [];
  simulation.settle();
  for (const [index, action] of (test.actions ?? []).entries()) {
    const place = `actions[${index}]`;
    if (action.at === undefined) runOn(simulation);
    else runUntil(simulation, SIMULATION_START + duration(action.at, place), place);
    const refused = refusalOf(() => running = act(simulation, running, action));
    failures.push(...refusalFailures(`${place} (${action.action})`, action.refused, refused));
    simulation.settle();
  }
  runOn(simulation);
  const view = simulation.view(running);
  failures.push(...unmetExpectations(expect, view, {
    startsOf: (node) => simulation.startsOf(running, node) ?? 0,
    allStarts: simulation.allStartsOf(running),
  }));
  return { name, failures, workflow: view };
}

function ruleFrom({ after, result, outputs, ...rest }: TestTask, index: number): TaskRule {
  return {
    ...rest,
    ...(after === undefined ? {} : { after: duration(after, `tasks[${index}].after`) / 1000 }),
    ...(result === undefined ? {} : { result: textOf(result) }),
    ...(outputs === undefined ? {} : { parameters: texts(outputs) }),
  };
}

function texts(values: Record<string, Json>): Record<string, string> {
  return Object.fromEntries(Object.entries(values).map(([key, value]) => [key, textOf(value)]));
}

/** A duration in milliseconds. @throws {Problem} InvalidArgument that names the place */
function duration(text: string, place: string): number {
  try {
    return durationMs(text);
  } catch {
    throw invalid(`${place} is ${JSON.stringify(text)}, expected seconds or text such as 1h30m`);
  }
}

function addManifest(simulation: Simulation, { kind, manifest }: AnyManifest): void {
  switch (kind) {
    case "WorkflowTemplate":
    case "ClusterWorkflowTemplate":
    case "ConfigMap":
    case "Secret":
      return simulation.addManifest(kind, manifest);
    case "Workflow":
    case "CronWorkflow":
    case "WorkflowEventBinding":
    case "Subscription":
      return;
  }
}

/** The workflow that is submitted for a manifest, with a name. */
function workflowOf(tested: AnyManifest): Workflow {
  const { kind, manifest } = tested;
  const { name = "", generateName = "" } = manifest.metadata;
  const ownName = name === "" ? `${generateName}test` : name;
  switch (kind) {
    case "Workflow": {
      const { generateName: _generated, ...metadata } = manifest.metadata;
      return { ...manifest, metadata: { ...metadata, name: ownName } };
    }
    case "CronWorkflow": {
      const { labels, annotations } = manifest.spec.workflowMetadata ?? {};
      return {
        metadata: {
          name: ownName,
          labels: { ...labels, [cronLabel(STANDARD_NAMING)]: ownName },
          annotations: {
            ...annotations,
            [scheduledTimeAnnotation(STANDARD_NAMING)]: rfc3339(SIMULATION_START),
          },
        },
        spec: manifest.spec.workflowSpec,
      };
    }
    default:
      return {
        metadata: { name: ownName },
        spec: {
          workflowTemplateRef: {
            name: ownName,
            ...(kind === "ClusterWorkflowTemplate" ? { clusterScope: true } : {}),
          },
        },
      };
  }
}

function withArguments(workflow: Workflow, given: Record<string, Json>): Workflow {
  const { spec } = workflow;
  const fresh = Object.entries(given).map(([name, value]): Parameter => ({
    name,
    value: textOf(value),
  }));
  const old = spec.arguments?.parameters?.filter(({ name }) => !Object.hasOwn(given, name)) ?? [];
  if (fresh.length === 0) return workflow;
  return {
    ...workflow,
    spec: { ...spec, arguments: { ...spec.arguments, parameters: [...fresh, ...old] } },
  };
}

function submit(simulation: Simulation, workflow: Workflow, all: readonly AnyManifest[]): void {
  const metadata = { ...workflow.metadata, namespace: SIMULATION_NAMESPACE };
  validateWorkflow({ ...workflow, metadata }, templateFinder(all));
  simulation.submit(workflow);
}

function refusalOf(run: () => void): string | undefined {
  try {
    run();
    return undefined;
  } catch (error) {
    if (error instanceof Problem) return error.message;
    throw error;
  }
}

function refusalFailures(
  what: string,
  expected: string | undefined,
  refusal: string | undefined,
): string[] {
  if (refusal === undefined) {
    return expected === undefined ? [] : [`${what}: expected a refusal with "${expected}"`];
  }
  if (expected === undefined) return [`${what}: refused with "${refusal}"`];
  return refusal.includes(expected)
    ? []
    : [`${what}: expected a refusal with "${expected}", received "${refusal}"`];
}

/** Lets time pass until everything has ended or waits for a user. */
function runOn(simulation: Simulation): void {
  for (let moment = 0; moment < MAX_MOMENTS && !simulation.isComplete(); moment++) {
    const next = simulation.nextAt();
    if (next === undefined) return;
    simulation.moveTo(next);
    simulation.settle();
  }
  if (!simulation.isComplete()) {
    throw invalid(
      `the workflow does not end by itself: after ${MAX_MOMENTS} moments it still goes on`,
    );
  }
}

function runUntil(simulation: Simulation, at: number, place: string): void {
  if (at < simulation.now) {
    const passed = durationText(BigInt(simulation.now - SIMULATION_START) * 1_000_000n);
    throw invalid(`${place}.at is in the past: ${passed} have passed`);
  }
  for (let moment = 0; moment < MAX_MOMENTS; moment++) {
    const next = simulation.nextAt();
    if (next === undefined || next > at) break;
    simulation.moveTo(next);
    simulation.settle();
  }
  simulation.moveTo(at);
  simulation.settle();
}

/** Does what an action says. Returns the name of the workflow with which the test continues. */
function act(simulation: Simulation, name: string, action: TestAction): string {
  const parameters = Object.entries(texts(action.parameters ?? {})).map(([key, value]) =>
    `${key}=${value}`
  );
  if (action.action === "resubmit") {
    const copy = `${name}-again`;
    simulation.resubmit(name, copy, { memoized: action.memoized === true, parameters });
    return copy;
  }
  simulation.control(name, requestOf(action.action, action, parameters));
  return name;
}

function requestOf(
  verb: Exclude<TestAction["action"], "resubmit">,
  action: TestAction,
  parameters: string[],
): ControlRequest {
  const { selector, message, phase, outputs, restartSuccessful } = action;
  const nodes = selector === undefined ? {} : { nodeFieldSelector: selector };
  const text = message === undefined ? {} : { message };
  switch (verb) {
    case "suspend":
    case "terminate":
      return { type: verb };
    case "resume":
      return { type: "resume", ...nodes };
    case "stop":
      return { type: "stop", ...nodes, ...text };
    case "set":
      return {
        type: "set",
        ...nodes,
        ...text,
        ...(phase === undefined ? {} : { phase }),
        ...(outputs === undefined ? {} : { outputParameters: JSON.stringify(texts(outputs)) }),
      };
    case "retry":
      return {
        type: "retry",
        ...nodes,
        ...(restartSuccessful === undefined ? {} : { restartSuccessful }),
        ...(parameters.length === 0 ? {} : { parameters }),
      };
  }
}
