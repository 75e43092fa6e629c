/**
 * Runs recorded scenarios through the engine with a scripted executor and simulated time, and compares the whole tree
 * at every quiet point. Drives the same functions as the host.
 */
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import process from "node:process";
import type { ControlRequest } from "../../src/engine/command.ts";
import { Simulation, SIMULATION_NAMESPACE } from "../../src/simulation/simulation.ts";
import type { TaskRule } from "../../src/simulation/task_rule.ts";
import { withExactItems } from "../../src/spec/exact_items.ts";
import type { ManifestKind, NodeStatus, Workflow } from "../../src/spec/manifest.ts";
import { decodeManifest, isKind } from "../../src/spec/schema/decode_manifest.ts";
import { validateWorkflow } from "../../src/spec/validation/validate.ts";
import { inCommonWords } from "./own_words.ts";

export interface ConformanceResult {
  passed: number;
  total: number;
  lines?: string[];
  quirks?: { like: number; better: number };
}

interface Action {
  action: string;
  workflow?: string;
  nodeFieldSelector?: string;
  message?: string;
  phase?: string;
  outputParameters?: Record<string, string> | string;
  restartSuccessful?: boolean;
  parameters?: string[];
  newName?: string;
  memoized?: boolean;
  seconds?: number;
  pod?: TaskRule;
}

interface Scenario {
  name: string;
  feature: string;
  quirk?: string[];
  manifests: Record<string, unknown>[];
  pods?: TaskRule[];
  actions?: Action[];
  golden: {
    create: { kind: string; name: string; valid: boolean; message?: string }[];
    snapshots: { at: string; error?: string; workflows: Record<string, unknown>[] }[];
  };
}

/** Goes on until everything has ended, or nothing has happened for 30 seconds. */
function runUntilQuiet(simulation: Simulation): void {
  simulation.settle();
  for (let idle = 0; idle < 30 && !simulation.isComplete();) {
    const isBusy = simulation.tick();
    idle = simulation.settle() || isBusy ? 0 : idle + 1;
  }
}

function snapshot(simulation: Simulation): Record<string, unknown>[] {
  return simulation.order.map((name) =>
    snapshotOf(simulation.view(name), (node) => simulation.startsOf(name, node))
  );
}

function act(simulation: Simulation, action: Action): void {
  const target = action.workflow ?? simulation.order[0] ?? "";
  switch (action.action) {
    case "wait":
      for (let second = 0; second < (action.seconds ?? 0); second++) {
        simulation.tick();
        simulation.settle();
      }
      return;
    case "pod":
      simulation.rules.unshift(action.pod ?? {});
      return;
    case "resubmit":
      simulation.resubmit(target, action.newName ?? "", {
        ...(action.parameters === undefined ? {} : { parameters: action.parameters }),
        ...(action.memoized === undefined ? {} : { memoized: action.memoized }),
      });
      return;
    default:
      simulation.control(target, requestOf(action));
  }
}

function requestOf(action: Action): ControlRequest {
  const { nodeFieldSelector, message, phase, outputParameters, restartSuccessful, parameters } =
    action;
  const selector = nodeFieldSelector === undefined ? {} : { nodeFieldSelector };
  switch (action.action) {
    case "suspend":
    case "terminate":
      return { type: action.action };
    case "resume":
      return { type: "resume", ...selector };
    case "stop":
      return { type: "stop", ...selector, ...(message === undefined ? {} : { message }) };
    case "set":
      return {
        type: "set",
        ...selector,
        ...(phase === undefined ? {} : { phase }),
        ...(message === undefined ? {} : { message }),
        ...(outputParameters === undefined ? {} : {
          outputParameters: typeof outputParameters === "string"
            ? outputParameters
            : JSON.stringify(outputParameters),
        }),
      };
    case "retry":
      return {
        type: "retry",
        ...selector,
        ...(restartSuccessful === undefined ? {} : { restartSuccessful }),
        ...(parameters === undefined ? {} : { parameters }),
      };
    default:
      throw new Error(`unknown action ${action.action}`);
  }
}

/** A workflow in the form of the recorded snapshots. */
function snapshotOf(
  workflow: Workflow,
  attempts: (node: string) => number | undefined,
): Record<string, unknown> {
  const { metadata, spec, status } = workflow;
  const nodes = status?.nodes ?? {};
  const nameOf = (id: string) => nodes[id]?.name ?? id;
  const parameters = status?.outputs?.parameters;
  return clean({
    name: metadata.name,
    phase: status?.phase ?? "",
    message: status?.message,
    progress: status?.progress,
    finished: status?.finishedAt !== null && status?.finishedAt !== undefined,
    suspend: spec.suspend,
    shutdown: spec.shutdown,
    outputParameters: parameters === undefined ? undefined : byName(parameters),
    nodes: byName(Object.values(nodes)).map((node) =>
      snapshotNode(node, nameOf, attempts(node.name))
    ),
  }) as Record<string, unknown>;
}

function snapshotNode(
  node: NodeStatus,
  nameOf: (id: string) => string,
  attempts: number | undefined,
): Record<string, unknown> {
  const { outputs } = node;
  const sorted = (ids: string[] | undefined) =>
    ids === undefined || ids.length === 0 ? undefined : ids.map(nameOf).sort();
  return clean({
    id: node.id,
    name: node.name,
    displayName: node.displayName,
    type: node.type,
    phase: node.phase,
    message: node.message,
    templateName: node.templateName,
    templateRef: node.templateRef,
    templateScope: node.templateScope,
    boundary: node.boundaryID === undefined ? undefined : nameOf(node.boundaryID),
    children: sorted(node.children),
    outboundNodes: sorted(node.outboundNodes),
    inputParameters: node.inputs?.parameters,
    outputs: outputs === undefined ? undefined : {
      ...(outputs.result === undefined ? {} : { result: outputs.result }),
      ...(outputs.exitCode === undefined ? {} : { exitCode: outputs.exitCode }),
      ...(outputs.parameters === undefined ? {} : { parameters: outputs.parameters }),
      ...(outputs.artifacts === undefined
        ? {}
        : { artifacts: outputs.artifacts.map(({ name }) => name) }),
    },
    nodeFlag: node.nodeFlag,
    daemoned: node.daemoned,
    progress: node.progress,
    memoizationStatus: node.memoizationStatus,
    synchronizationStatus: node.synchronizationStatus,
    finished: node.finishedAt !== null,
    attempts,
  });
}

function byName<T extends { name: string }>(list: readonly T[]): T[] {
  return [...list].sort((a, b) => a.name < b.name ? -1 : a.name > b.name ? 1 : 0);
}

function clean(value: Record<string, unknown>): Record<string, unknown> {
  return Object.fromEntries(
    Object.entries(value).filter(([, one]) => one !== undefined && one !== ""),
  );
}

const TIMES =
  /\d{4}-\d{2}-\d{2}[T ]\d{2}:\d{2}:\d{2}(?:\.\d+)?(?:Z| [+-]\d{4} \w+(?: m=[+-][\d.]+)?|[+-]\d{2}:\d{2})/g;

function mask(value: unknown): unknown {
  if (typeof value === "string") return value.replace(TIMES, "<TIME>");
  if (Array.isArray(value)) return value.map(mask);
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).map(([key, one]) => [mask(key) as string, mask(one)]),
  );
}

/** Differences of two values, one line each. */
function diff(path: string, wanted: unknown, got: unknown, lines: string[]): void {
  if (JSON.stringify(wanted) === JSON.stringify(got)) return;
  if (typeof wanted === "string" && typeof got === "string") {
    if (inCommonWords(wanted) === inCommonWords(got)) return;
  }
  if (Array.isArray(wanted) && Array.isArray(got) && path.endsWith("nodes")) {
    const names = new Set([...wanted, ...got].map((node) => node.name as string));
    for (const name of [...names].sort()) {
      const find = (list: { name: string }[]) => list.find((node) => node.name === name);
      diff(`${path}[${name}]`, find(wanted), find(got), lines);
    }
    return;
  }
  const isMap = (value: unknown): value is Record<string, unknown> =>
    typeof value === "object" && value !== null && !Array.isArray(value);
  if (isMap(wanted) && isMap(got)) {
    for (const key of [...new Set([...Object.keys(wanted), ...Object.keys(got)])].sort()) {
      diff(path === "" ? key : `${path}.${key}`, wanted[key], got[key], lines);
    }
    return;
  }
  lines.push(`    ${path}: want ${short(wanted)}, got ${short(got)}`);
}

function short(value: unknown): string {
  const text = JSON.stringify(value) ?? "nothing";
  return text.length > 400 ? `${text.slice(0, 400)}…` : text;
}

/** The reference's helper prefixes some refusals with this. */
const PREFIX = "timed out waiting for the condition: ";

/** Runs one scenario; returns the differences, none if it is as recorded. */
function runScenario(scenario: Scenario, isForgetful = false): string[] {
  const lines: string[] = [];
  const simulation = new Simulation({ rules: scenario.pods ?? [], isForgetful });
  for (const raw of scenario.manifests) {
    const kind = String(raw["kind"]);
    if (kind === "Workflow") {
      const workflow = decodeManifest("Workflow", raw);
      checkCreate(simulation, scenario, workflow, lines);
      simulation.submit(workflow);
    } else if (isKind(kind)) {
      simulation.addManifest(
        kind as ManifestKind,
        decodeManifest(kind, raw) as { metadata: { name?: string } },
      );
    } else simulation.addManifest(kind as ManifestKind, raw as { metadata: { name?: string } });
  }
  const check = (index: number, error: string | undefined) => {
    const wanted = scenario.golden.snapshots[index];
    const found: string[] = [];
    const refusal = wanted?.error?.startsWith(PREFIX)
      ? wanted.error.slice(PREFIX.length)
      : wanted?.error;
    diff("error", mask(refusal), mask(error), found);
    const got = mask(snapshot(simulation)) as unknown[];
    for (const [at, workflow] of (wanted?.workflows ?? []).entries()) {
      diff(
        String((workflow as { name: string }).name),
        sortKeys(workflow),
        sortKeys(got[at]),
        found,
      );
    }
    if (found.length > 0) lines.push(`  at ${wanted?.at ?? index}:`, ...found);
  };
  runUntilQuiet(simulation);
  check(0, undefined);
  for (const [index, action] of (scenario.actions ?? []).entries()) {
    let error: string | undefined;
    try {
      act(simulation, action);
    } catch (problem) {
      if (!(problem instanceof Error) || problem.name !== "Problem") throw problem;
      error = problem.message;
    }
    runUntilQuiet(simulation);
    check(index + 1, error);
  }
  return lines;
}

function checkCreate(
  simulation: Simulation,
  scenario: Scenario,
  workflow: Workflow,
  lines: string[],
): void {
  const wanted = scenario.golden.create.find(({ name }) => name === workflow.metadata.name);
  let message: string | undefined;
  try {
    validateWorkflow({
      ...workflow,
      metadata: { ...workflow.metadata, namespace: SIMULATION_NAMESPACE },
    }, {
      findTemplate: (kind, namespace, name) =>
        (simulation.env.findManifest(kind, namespace, name) ?? undefined) as never,
    });
  } catch (error) {
    if (!(error instanceof Error)) throw error;
    message = error.message;
  }
  diff("create.message", wanted?.message, message, lines);
}

function sortKeys(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sortKeys);
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(
    Object.keys(value).sort().map((
      key,
    ) => [key, sortKeys((value as Record<string, unknown>)[key])]),
  );
}

/** Runs every scenario of a folder. `SLUICE_ONLY` (a regular expression) selects some by name. */
export function run(dir: string): Promise<ConformanceResult> {
  const folder = readdirSync(dir).includes("engine") ? join(dir, "engine") : dir;
  const only = process.env["SLUICE_ONLY"];
  const lines: string[] = [];
  const quirks = { like: 0, better: 0 };
  let passed = 0;
  let total = 0;
  for (const file of readdirSync(folder).filter((name) => name.endsWith(".json")).sort()) {
    const text = readFileSync(join(folder, file), "utf8");
    const scenario = withExactItems(JSON.parse(text) as Scenario, text);
    if (only !== undefined && !new RegExp(only).test(scenario.name)) continue;
    const isQuirk = (scenario.quirk?.length ?? 0) > 0;
    let found: string[];
    try {
      found = runScenario(scenario, process.env["SLUICE_FORGETFUL"] !== undefined);
    } catch (error) {
      found = [`  ${error instanceof Error ? error.stack ?? error.message : String(error)}`];
    }
    if (isQuirk) {
      if (found.length === 0) quirks.like++;
      else {
        quirks.better++;
        if (only !== undefined) {
          lines.push(`${scenario.name} (quirk: ${scenario.quirk?.join("; ")})`, ...found);
        }
      }
      continue;
    }
    total++;
    if (found.length === 0) passed++;
    else lines.push(`${scenario.name} (${scenario.feature})`, ...found);
  }
  return Promise.resolve({ passed, total, lines, quirks });
}
