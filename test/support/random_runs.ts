/** Carries out random workflows in the simulation, and tells what is wrong with how they ended. */
import { Problem } from "../../src/base/problem.ts";
import type { ControlRequest } from "../../src/engine/command.ts";
import { hasEnded, isExecutable, parseProgress } from "../../src/engine/records.ts";
import { Simulation, type SimulationOptions } from "../../src/simulation/simulation.ts";
import type { NodeStatus, Workflow } from "../../src/spec/manifest.ts";
import { LOCKS, type RandomRun } from "./random_workflows.ts";

/** Users ask nothing after this, except that what waits for them goes on. */
const LAST_ORDER_S = 30;
const LAST_S = 400;

/** Carries out a workflow until it has ended, or long enough. */
export function carryOut(run: RandomRun, options: SimulationOptions = {}): Simulation {
  const rules = [...run.rules, { result: "[1,2]" }];
  const simulation = new Simulation({ isLikeExecutors: true, ...options, rules });
  simulation.addManifest("ConfigMap", LOCKS);
  simulation.submit(structuredClone(run.workflow));
  simulation.settle();
  for (let second = 0; second < LAST_S; second++) {
    if (second > LAST_ORDER_S && simulation.isComplete()) break;
    simulation.tick();
    simulation.settle();
    for (const order of run.orders) {
      if (order.second === second) ask(simulation, order.request);
    }
    if (second > LAST_ORDER_S && second % 5 === 0) ask(simulation, { type: "resume" });
  }
  return simulation;
}

/** A request may be refused. */
function ask(simulation: Simulation, request: ControlRequest, name = "w"): void {
  isTaken(() => simulation.control(name, request));
  simulation.settle();
}

function isTaken(request: () => void): boolean {
  try {
    request();
    return true;
  } catch (error) {
    if (error instanceof Problem) return false;
    throw error;
  }
}

/** Retries a workflow that has ended, or submits it again with its results as `x`. All tasks succeed from now on. */
export function carryOn(simulation: Simulation, how: "retry" | "resubmit"): string | undefined {
  if (!simulation.isComplete()) return undefined;
  simulation.rules.splice(0, Infinity, { result: "[1,2]", parameters: { list: "[1]" } });
  const name = how === "retry" ? "w" : "x";
  const request = () =>
    how === "retry"
      ? simulation.control("w", { type: "retry" })
      : simulation.resubmit("w", "x", { memoized: true });
  if (!isTaken(request)) return undefined;
  for (let second = 0; second < 100 && (second === 0 || !simulation.isComplete()); second++) {
    simulation.settle();
    simulation.tick();
    if (second % 5 === 4) ask(simulation, { type: "resume" }, name);
  }
  simulation.settle();
  return name;
}

/** What clients see, in an order of its own. */
export function outcomeOf(simulation: Simulation, name = "w"): unknown {
  const { phase, message, progress, outputs, nodes = {} } = simulation.view(name).status ?? {};
  const rows = Object.values(nodes).map((node) => [
    node.name,
    { ...node, children: node.children?.toSorted(), outboundNodes: node.outboundNodes?.toSorted() },
  ]);
  return { phase, message, progress, outputs, nodes: Object.fromEntries(rows) };
}

/** What is wrong with a workflow that should have ended. @param isRetried it may have started tasks more than once */
export function faultsOf(simulation: Simulation, isRetried: boolean, workflow = "w"): string[] {
  const { nodes: byId = {}, progress, message } = simulation.view(workflow).status ?? {};
  const nodes = Object.values(byId);
  const open = nodes.filter(({ phase = "Pending" }) => !hasEnded({ phase }));
  // A daemon may keep the last place for ever.
  if (!simulation.isComplete() && open.some(({ daemoned }) => daemoned === true)) return [];
  const faults = open.map(({ name, phase, message }) => `${name} is ${phase}: ${message}`);
  if (!simulation.isComplete()) return ["the workflow has not ended", ...faults];
  for (const node of nodes) {
    const starts = simulation.startsOf(workflow, node.name) ?? 0;
    faults.push(...faultsOfNode(node, starts, isRetried));
  }
  const counted = nodes.filter(({ type }) => isExecutable(type))
    .map(({ progress = "" }) => parseProgress(progress));
  const sum = [0, 1].map((at) => counted.reduce((all, one) => all + (one[at] ?? 0), 0)).join("/");
  if (progress !== sum) faults.push(`progress is ${progress}, its nodes have ${sum}`);
  if (message?.includes("internal error") === true) faults.push(message);
  for (const task of simulation.openTasks) faults.push(`task ${task} goes on`);
  if (!areLocksFree(simulation)) faults.push("not all locks are free");
  return faults;
}

function faultsOfNode(
  { name, phase, finishedAt }: NodeStatus,
  starts: number,
  isRetried: boolean,
): string[] {
  const faults: string[] = [];
  if (finishedAt === undefined || finishedAt === null) faults.push(`${name} has no end`);
  if (starts > 1 && !isRetried) faults.push(`${name} was started ${starts} times`);
  const wasLeftOut = phase === "Skipped" || phase === "Omitted";
  if (starts > 0 && wasLeftOut && !isRetried) faults.push(`${name} was started, but is ${phase}`);
  return faults;
}

/** Tells whether another workflow gets all locks. */
function areLocksFree(simulation: Simulation): boolean {
  const workflow: Workflow = {
    metadata: { name: "v" },
    spec: {
      entrypoint: "main",
      synchronization: {
        mutexes: [{ name: "m" }, { name: "group-1" }, { name: "group-2" }, { name: "group-3" }, {
          name: "whole",
        }],
      },
      templates: [{
        name: "main",
        suspend: { duration: "0" },
        synchronization: { semaphores: [{ configMapKeyRef: { name: "locks", key: "two" } }] },
      }],
    },
  };
  simulation.submit(workflow);
  for (let second = 0; second < 3; second++) {
    simulation.settle();
    simulation.tick();
  }
  simulation.settle();
  return simulation.view("v").status?.phase === "Succeeded";
}
