/**
 * Runs recorded scenarios through the engine: a scripted executor, simulated time, and a comparison of the whole tree at
 * every quiet point. Drives the same functions as the host.
 */
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import process from "node:process";
import { accept } from "../../src/engine/accept.ts";
import { advance } from "../../src/engine/advance.ts";
import { loadWorkflow, takeChanges } from "../../src/engine/codec.ts";
import type { ControlRequest, TaskOutcome } from "../../src/engine/command.ts";
import { control } from "../../src/engine/control.ts";
import { createWorkflow } from "../../src/engine/create.ts";
import type { Effect, TaskSpec } from "../../src/engine/effect.ts";
import type { EngineEnv } from "../../src/engine/engine.ts";
import {
  acquireLocks,
  emptyLockTable,
  type LockNews,
  releaseLocks,
} from "../../src/engine/locks.ts";
import { resubmitWorkflow, withResults } from "../../src/engine/resubmit.ts";
import type { WorkflowState } from "../../src/engine/state.ts";
import { viewWorkflow } from "../../src/engine/view.ts";
import type {
  ConfigMap,
  ManifestKind,
  NodeStatus,
  Parameter,
  Workflow,
} from "../../src/spec/manifest.ts";
import { LABEL_PREFIX } from "../../src/spec/manifest.ts";
import { decodeManifest, isKind } from "../../src/spec/decode_manifest.ts";
import { validateWorkflow } from "../../src/spec/validate.ts";

export interface ConformanceResult {
  passed: number;
  total: number;
  lines?: string[];
  quirks?: { like: number; better: number };
}

interface PodRule {
  node?: string;
  attempt?: number;
  outcome?: "Succeeded" | "Failed" | "Error" | "Hang" | "Pending";
  after?: number;
  exitCode?: number;
  message?: string;
  result?: string;
  parameters?: Record<string, string>;
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
  pod?: PodRule;
}

interface Scenario {
  name: string;
  feature: string;
  quirk?: string[];
  manifests: Record<string, unknown>[];
  pods?: PodRule[];
  actions?: Action[];
  golden: {
    create: { kind: string; name: string; valid: boolean; message?: string }[];
    snapshots: { at: string; error?: string; workflows: Record<string, unknown>[] }[];
  };
}

const START = Date.UTC(2024, 0, 1, 0, 0, 0);
const NAMESPACE = "default";

interface Job {
  workflow: string;
  task: TaskSpec;
  attempt: number;
  createdAt: number;
  runningAt?: number;
}

/** One scenario's world: workflows, manifests, jobs, locks, timers and the clock. */
export class Simulation {
  now = START;
  readonly states = new Map<string, WorkflowState>();
  readonly order: string[] = [];
  readonly jobs = new Map<string, Job>();
  readonly starts = new Map<string, number>();
  readonly timers = new Map<string, number>();
  readonly manifests = new Map<string, unknown>();
  readonly locks = emptyLockTable();
  readonly pods: PodRule[];
  /** Reload every workflow from its stored parts after each step. */
  readonly isForgetful: boolean;
  readonly #parts = new Map<string, Record<string, string>>();
  #random = 0;

  constructor(pods: PodRule[], isForgetful = false) {
    this.pods = [...pods];
    this.isForgetful = isForgetful;
  }

  get env(): EngineEnv {
    return {
      now: this.now,
      randomSuffix: (length) => String(this.#random++).padStart(length, "x").slice(-length),
      findManifest: (kind, namespace, name) =>
        this.manifests.get(
          `${kind}/${kind === "ClusterWorkflowTemplate" ? "" : namespace}/${name}`,
        ) ?? null,
      labelPrefix: LABEL_PREFIX,
    };
  }

  addManifest(kind: ManifestKind, manifest: { metadata: { name?: string } }): void {
    const namespace = kind === "ClusterWorkflowTemplate" ? "" : NAMESPACE;
    this.manifests.set(`${kind}/${namespace}/${manifest.metadata.name ?? ""}`, manifest);
  }

  submit(workflow: Workflow): void {
    const name = workflow.metadata.name ?? "";
    const complete: Workflow = {
      ...workflow,
      metadata: {
        ...workflow.metadata,
        namespace: NAMESPACE,
        uid: `uid-${name}`,
        creationTimestamp: new Date(START).toISOString().replace(".000", ""),
      },
    };
    this.states.set(name, createWorkflow(complete, this.env));
    if (!this.order.includes(name)) this.order.push(name);
    this.#parts.set(name, {});
  }

  /** Lets every workflow go on until nobody has anything to do. True when something changed. */
  settle(): boolean {
    let hasChanged = false;
    for (let round = 0; round < 10_000; round++) {
      let isQuiet = true;
      for (const name of this.order) {
        const state = this.#state(name);
        advance(state, this.env);
        const changes = takeChanges(state);
        if (changes.needs.length > 0) {
          throw new Error(`manifests needed: ${JSON.stringify(changes.needs)}`);
        }
        const parts = this.#parts.get(name) ?? {};
        for (const key of changes.drop) delete parts[key];
        Object.assign(parts, changes.put);
        if (Object.keys(changes.put).length + changes.drop.length > 0) hasChanged = true;
        for (const effect of changes.effects) {
          if (this.#perform(name, effect)) isQuiet = false;
        }
      }
      if (isQuiet) return hasChanged;
    }
    throw new Error("the engine does not come to rest");
  }

  #state(name: string): WorkflowState {
    let state = this.states.get(name);
    if (state === undefined) throw new Error(`no workflow ${name}`);
    const parts = this.#parts.get(name);
    if (this.isForgetful && parts?.["h"] !== undefined) {
      const changes = takeChanges(state);
      for (const key of changes.drop) delete parts[key];
      Object.assign(parts, changes.put);
      const effects = changes.effects;
      state = loadWorkflow(parts);
      state.pending.effects.push(...effects);
      this.states.set(name, state);
    }
    return state;
  }

  /** True when the effect brought the engine something new at once. */
  #perform(workflow: string, effect: Effect): boolean {
    switch (effect.type) {
      case "start-task": {
        const { task } = effect;
        const key = `${workflow}/${task.nodeName}`;
        const attempt = (this.starts.get(key) ?? 0) + 1;
        this.starts.set(key, attempt);
        this.jobs.set(task.id, { workflow, task, attempt, createdAt: this.now });
        return false;
      }
      case "cancel-task":
        this.jobs.delete(effect.task);
        return false;
      case "set-timer":
        this.timers.set(`${workflow} ${effect.id}`, effect.at);
        return false;
      case "clear-timer":
        this.timers.delete(`${workflow} ${effect.id}`);
        return false;
      case "acquire-locks":
        return this.#tell(acquireLocks(this.locks, effect));
      case "release-locks":
        return this.#tell(releaseLocks(this.locks, effect.holder));
      case "save-memo": {
        const key = `ConfigMap/${effect.namespace}/${effect.configMap}`;
        const known = this.manifests.get(key) as ConfigMap | undefined;
        this.manifests.set(key, {
          metadata: {
            name: effect.configMap,
            labels: { [`${LABEL_PREFIX}configmap-type`]: "Cache" },
          },
          data: { ...known?.data, [effect.key]: effect.entry },
        });
        return false;
      }
      case "clean-tasks":
      case "collect-artifacts":
      case "delete-workflow":
      case "record-event":
        return false;
    }
  }

  #tell(news: LockNews[]): boolean {
    for (const { type, holder, message, waiting, holders } of news) {
      const [, name] = holder.split("/");
      const state = this.states.get(name ?? "");
      if (state === undefined) continue;
      if (type === "granted") accept(state, { type: "locks-granted", holder }, this.env);
      else {
        accept(state, {
          type: "locks-waiting",
          holder,
          message: message ?? "",
          waiting: waiting ?? "",
          ...(holders === undefined ? {} : { holders }),
        }, this.env);
      }
    }
    return news.length > 0;
  }

  ruleFor(job: Job): PodRule {
    return this.pods.find(({ node, attempt }) =>
      (node === undefined || new RegExp(node).test(job.task.nodeName)) &&
      (attempt === undefined || attempt === job.attempt)
    ) ?? {};
  }

  /** One second passes: timers fire and jobs move. True when a job moved or is only waiting for its time. */
  tick(): boolean {
    this.now += 1000;
    let isBusy = false;
    for (const [key, at] of [...this.timers]) {
      if (at > this.now) continue;
      this.timers.delete(key);
      const [workflow = "", ...timer] = key.split(" ");
      accept(this.#state(workflow), { type: "timer-fired", timer: timer.join(" ") }, this.env);
    }
    for (const [id, job] of [...this.jobs]) {
      const rule = this.ruleFor(job);
      const outcome = rule.outcome ?? (job.task.template.daemon === true ? "Hang" : "Succeeded");
      if (outcome === "Pending") continue;
      const state = this.#state(job.workflow);
      if (job.runningAt === undefined) {
        job.runningAt = this.now;
        isBusy = true;
        accept(state, { type: "task-started", task: id, podIP: "10.0.0.1", ready: true }, this.env);
        continue;
      }
      if (outcome === "Hang") continue;
      isBusy = true;
      if (this.now - job.runningAt < (rule.after ?? 1) * 1000) continue;
      this.jobs.delete(id);
      accept(
        state,
        { type: "task-ended", task: id, outcome: outcomeOf(job, rule, outcome) },
        this.env,
      );
    }
    return isBusy;
  }

  isComplete(): boolean {
    return this.order.every((name) => this.states.get(name)?.header.finishedAt !== undefined);
  }

  /** Goes on until everything is over, or nothing has happened for 30 seconds. */
  runUntilQuiet(): void {
    this.settle();
    for (let idle = 0; idle < 30 && !this.isComplete();) {
      const isBusy = this.tick();
      idle = this.settle() || isBusy ? 0 : idle + 1;
    }
  }

  snapshot(): Record<string, unknown>[] {
    return this.order.map((name) =>
      snapshotOf(viewWorkflow(this.#state(name)), (node) => this.starts.get(`${name}/${node}`))
    );
  }

  act(action: Action): void {
    const target = action.workflow ?? this.order[0] ?? "";
    const state = this.#state(target);
    switch (action.action) {
      case "wait":
        for (let second = 0; second < (action.seconds ?? 0); second++) {
          this.tick();
          this.settle();
        }
        return;
      case "pod":
        this.pods.unshift(action.pod ?? {});
        return;
      case "resubmit": {
        const from = viewWorkflow(state);
        const name = action.newName ?? "";
        const copy = resubmitWorkflow(from, {
          ...(action.parameters === undefined ? {} : { parameters: action.parameters }),
          ...(action.memoized === undefined ? {} : { memoized: action.memoized }),
        }, this.env);
        const { generateName: _generate, ...metadata } = copy.metadata;
        const named: Workflow = { ...copy, metadata: { ...metadata, name } };
        this.order.splice(this.order.indexOf(target), 1, name);
        this.submit(action.memoized === true ? withResults(named, from, name, this.env) : named);
        return;
      }
      default:
        control(state, requestOf(action), this.env);
    }
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

/** What the executor reports for a job that ends now. */
function outcomeOf(
  job: Job,
  rule: PodRule,
  outcome: "Succeeded" | "Failed" | "Error",
): TaskOutcome {
  const { template } = job.task;
  if (template.http !== undefined) {
    return {
      phase: outcome,
      ...(rule.message === undefined ? {} : { message: rule.message }),
      outputs: { result: rule.result ?? "" },
    };
  }
  const exitCode = String(rule.exitCode ?? (outcome === "Failed" ? 1 : 0));
  const containers = template.containerSet?.containers;
  const hasMain = containers === undefined || containers.some(({ name }) => name === "main");
  const first = containers?.[0]?.name ?? "main";
  const message = outcome === "Succeeded"
    ? ""
    : outcome === "Error"
    ? `wait: Error (exit code 1)${rule.message === undefined ? "" : `: ${rule.message}`}`
    : rule.message ?? `${first}: Error (exit code ${exitCode})`;
  const parameters = (template.outputs?.parameters ?? []).flatMap((parameter): Parameter[] => {
    if (parameter.valueFrom?.path === undefined) {
      return parameter.value === undefined ? [] : [parameter];
    }
    const value = rule.parameters?.[parameter.name] ?? parameter.valueFrom.default;
    if (value === undefined) {
      return outcome === "Succeeded" ? [{ ...parameter, value: "" }] : [parameter];
    }
    return [{ ...parameter, value }];
  });
  return {
    phase: outcome,
    message,
    outputs: {
      ...(parameters.length === 0 ? {} : { parameters }),
      ...(job.task.includeResult ? { result: rule.result ?? "" } : {}),
      ...(hasMain ? { exitCode } : {}),
    },
    ...(containers === undefined ? {} : {
      containers: Object.fromEntries(containers.map(({ name }) => [name ?? "", {
        phase: outcome,
        ...(outcome === "Succeeded"
          ? {}
          : { message: `${name ?? ""}: Error (exit code ${exitCode}): ` }),
      }])),
    }),
  };
}

/** A workflow in the form of the recorded snapshots. */
export function snapshotOf(
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

/** The reference's helper puts this before some refusals. */
const PREFIX = "timed out waiting for the condition: ";

/** Runs one scenario; the differences, none when it is as recorded. */
export function runScenario(scenario: Scenario, isForgetful = false): string[] {
  const lines: string[] = [];
  const simulation = new Simulation(scenario.pods ?? [], isForgetful);
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
    const got = mask(simulation.snapshot()) as unknown[];
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
  simulation.runUntilQuiet();
  check(0, undefined);
  for (const [index, action] of (scenario.actions ?? []).entries()) {
    let error: string | undefined;
    try {
      simulation.act(action);
    } catch (problem) {
      if (!(problem instanceof Error) || problem.name !== "Problem") throw problem;
      error = problem.message;
    }
    simulation.runUntilQuiet();
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
    validateWorkflow({ ...workflow, metadata: { ...workflow.metadata, namespace: NAMESPACE } }, {
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

/** Runs every scenario of a folder. `SLUICE_ONLY` (a regular expression) picks some by name. */
export function run(dir: string): Promise<ConformanceResult> {
  const folder = readdirSync(dir).includes("engine") ? join(dir, "engine") : dir;
  const only = process.env["SLUICE_ONLY"];
  const lines: string[] = [];
  const quirks = { like: 0, better: 0 };
  let passed = 0;
  let total = 0;
  for (const file of readdirSync(folder).filter((name) => name.endsWith(".json")).sort()) {
    const scenario = JSON.parse(readFileSync(join(folder, file), "utf8")) as Scenario;
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
