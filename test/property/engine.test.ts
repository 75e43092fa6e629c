/**
 * Random workflows with random outcomes. Whatever the order of reports, and however often the process dies in between,
 * the final tree is the same, everything ends, and no lock is left.
 */
import { partsByKey } from "../../src/base/part_text.ts";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { accept } from "../../src/engine/accept.ts";
import { advance } from "../../src/engine/advance.ts";
import { loadWorkflow, takeChanges } from "../../src/engine/codec.ts";
import type { Fact } from "../../src/engine/command.ts";
import { control } from "../../src/engine/orders/control.ts";
import { createWorkflow } from "../../src/engine/create.ts";
import type { Effect } from "../../src/engine/effect.ts";
import type { EngineEnv } from "../../src/engine/engine.ts";
import {
  acquireLocks,
  emptyLockTable,
  type LockNews,
  releaseLocks,
} from "../../src/engine/locks/locks.ts";
import { fnv1a } from "../../src/engine/scope/names.ts";
import { outstanding } from "../support/outstanding.ts";
import type { WorkflowState } from "../../src/engine/state.ts";
import { hasEnded } from "../../src/engine/records.ts";
import { viewWorkflow } from "../../src/engine/view.ts";
import type { NodeStatus, Template, Workflow } from "../../src/spec/manifest.ts";

/** A template in a random manifest, named after its position. */
type Shape =
  | { kind: "leaf"; retry: number; hasMutex: boolean; hasBackoff: boolean }
  | { kind: "suspend"; duration: boolean }
  | { kind: "steps"; groups: Child[][]; retry: number }
  | { kind: "dag"; tasks: (Child & { needs: number[]; any: boolean })[]; retry: number };

interface Child {
  shape: Shape;
  /** Number of loop elements; 0 = no loop. */
  loop: number;
  isTolerated: boolean;
  when: "" | "true" | "false";
  /** Template of its exit hook: a leaf, or a group. */
  exit: "" | "bye" | "farewell";
}

const leaf = fc.record({
  kind: fc.constant("leaf" as const),
  retry: fc.integer({ min: -1, max: 2 }),
  hasMutex: fc.boolean(),
  hasBackoff: fc.boolean(),
});
const suspend = fc.record({ kind: fc.constant("suspend" as const), duration: fc.boolean() });

function shapes(depth: number): fc.Arbitrary<Shape> {
  if (depth === 0) {
    return fc.oneof({ weight: 4, arbitrary: leaf }, { weight: 1, arbitrary: suspend });
  }
  const child: fc.Arbitrary<Child> = fc.record({
    shape: shapes(depth - 1),
    loop: fc.oneof({ weight: 3, arbitrary: fc.constant(0) }, {
      weight: 1,
      arbitrary: fc.integer({ min: 1, max: 3 }),
    }),
    isTolerated: fc.boolean(),
    when: fc.oneof(
      { weight: 6, arbitrary: fc.constant("" as const) },
      { weight: 1, arbitrary: fc.constantFrom("true" as const, "false" as const) },
    ),
    exit: fc.oneof(
      { weight: 4, arbitrary: fc.constant("" as const) },
      { weight: 1, arbitrary: fc.constantFrom("bye" as const, "farewell" as const) },
    ),
  });
  const retry = fc.oneof({ weight: 3, arbitrary: fc.constant(-1) }, {
    weight: 1,
    arbitrary: fc.integer({ min: 0, max: 1 }),
  });
  return fc.oneof(
    leaf,
    fc.record({
      kind: fc.constant("steps" as const),
      groups: fc.array(fc.array(child, { minLength: 1, maxLength: 3 }), {
        minLength: 1,
        maxLength: 3,
      }),
      retry,
    }),
    fc.record({
      kind: fc.constant("dag" as const),
      tasks: fc.array(
        fc.tuple(child, fc.array(fc.nat(5), { maxLength: 2 }), fc.boolean())
          .map(([one, needs, any]) => ({ ...one, needs, any })),
        { minLength: 1, maxLength: 5 },
      ),
      retry,
    }),
  );
}

function manifestOf(shape: Shape, onExit: boolean): Workflow {
  const templates: Template[] = [];
  const add = (one: Shape, name: string): string => {
    const retry = "retry" in one && one.retry >= 0 ? { retryStrategy: { limit: one.retry } } : {};
    switch (one.kind) {
      case "leaf":
        templates.push({
          name,
          container: { image: "i", command: ["c"] },
          ...(one.retry < 0 ? {} : {
            retryStrategy: {
              limit: one.retry,
              ...(one.hasBackoff ? { backoff: { duration: "3" } } : {}),
            },
          }),
          ...(one.hasMutex ? { synchronization: { mutexes: [{ name: "m" }] } } : {}),
        });
        break;
      case "suspend":
        templates.push({ name, suspend: one.duration ? { duration: "20" } : {} });
        break;
      case "steps":
        templates.push({
          name,
          ...retry,
          steps: one.groups.map((group, row) =>
            group.map((child, column) =>
              stepOf(child, `s${row}-${column}`, add(child.shape, `${name}-${row}-${column}`))
            )
          ),
        });
        break;
      case "dag":
        templates.push({
          name,
          ...retry,
          dag: {
            tasks: one.tasks.map((child, index) => {
              const { continueOn: _tolerated, ...task } = stepOf(
                child,
                `t${index}`,
                add(child.shape, `${name}-${index}`),
              );
              const needs = [...new Set(child.needs)].filter((need) => need < index);
              const terms = needs.map((need) =>
                child.any
                  ? `(t${need}.Succeeded || t${need}.Failed || t${need}.Skipped)`
                  : `t${need}`
              );
              return terms.length === 0 ? task : { ...task, depends: terms.join(" && ") };
            }),
          },
        });
    }
    return name;
  };
  const entrypoint = add(shape, "x");
  templates.push({ name: "bye", container: { image: "i", command: ["c"] } });
  templates.push({
    name: "farewell",
    steps: [[{ name: "one", template: "bye" }], [{ name: "two", template: "bye" }]],
  });
  return {
    metadata: {
      name: "wf",
      namespace: "default",
      uid: "uid",
      creationTimestamp: "2024-01-01T00:00:00Z",
    },
    spec: { entrypoint, templates, ...(onExit ? { onExit: "bye" } : {}) },
  };
}

function stepOf(child: Child, name: string, template: string) {
  return {
    name,
    template,
    ...(child.loop > 0
      ? { withItems: Array.from({ length: child.loop }, (_, index) => index) }
      : {}),
    ...(child.isTolerated ? { continueOn: { failed: true } } : {}),
    ...(child.when === "" ? {} : { when: child.when }),
    ...(child.exit === "" ? {} : { hooks: { exit: { template: child.exit } } }),
  };
}

/** Numbers in [0, 1) from a seed. */
function randomFrom(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return state / 2 ** 32;
  };
}

class World {
  now = Date.UTC(2024, 0, 1);
  state: WorkflowState;
  readonly facts: Fact[] = [];
  readonly past: Fact[] = [];
  readonly timers = new Map<string, number>();
  readonly locks = emptyLockTable();
  readonly parts: Record<string, string> = {};
  readonly random: () => number;
  readonly isRandom: boolean;
  /** Reports in order, but the turns are short, and the process dies between them. */
  readonly isHasty: boolean;
  /** The process has died between two turns. */
  hasDied = false;
  readonly salt: number;
  readonly ended = new Map<string, string>();

  constructor(workflow: Workflow, salt: number, seed: number | undefined, isHasty = false) {
    this.isRandom = seed !== undefined && !isHasty;
    this.isHasty = isHasty;
    this.random = randomFrom(seed ?? 0);
    this.salt = salt;
    this.state = createWorkflow(workflow, this.env);
  }

  get env(): EngineEnv {
    return {
      now: this.now,
      randomSuffix: (length) => "x".repeat(length),
      findManifest: () => null,
      labelPrefix: "workflows.argoproj.io/",
      apiGroup: "argoproj.io",
      ...(this.isRandom || this.isHasty
        ? { mayGoOn: () => this.random() < (this.isHasty ? 0.7 : 0.97) }
        : {}),
    };
  }

  /** Outcome of a node: depends only on its name. */
  isGood(node: string): boolean {
    return fnv1a(`${this.salt}/${node}`) % 3 > 0;
  }

  run(): void {
    this.advance();
    for (let round = 0; this.state.header.finishedAt === undefined; round++) {
      if (round > 5000) {
        throw new Error(`stuck: ${JSON.stringify(viewWorkflow(this.state).status?.nodes)}`);
      }
      const count = this.isRandom ? 1 + Math.floor(this.random() * 3) : 1;
      for (let at = 0; at < count; at++) this.report();
      this.advance();
    }
  }

  advance(): void {
    for (let again = true; again;) {
      advance(this.state, this.env);
      const changes = takeChanges(this.state);
      for (const key of changes.drop) delete this.parts[key];
      Object.assign(this.parts, partsByKey(changes.put));
      again = false;
      for (const effect of changes.effects) if (this.perform(effect)) again = !this.isRandom;
      if (this.isHasty && this.timers.delete("go-on")) {
        // The order in which waiters get a free place is not stored.
        const isGated = this.state.specs.spec.parallelism !== undefined;
        if (!isGated && this.random() < 0.3) {
          this.state = loadWorkflow(this.parts);
          this.hasDied = true;
        }
        accept(this.state, { type: "timer-fired", timer: "go-on" }, this.env);
        again = true;
      }
    }
    this.checkEnded();
    if (this.isRandom && this.random() < 0.2) this.crash();
  }

  /** The process dies: only what was stored is left, and pending effects are carried out again. */
  crash(): void {
    const before = viewWorkflow(this.state);
    const open = outstanding(this.state, this.env).map(({ id }) => id).sort();
    this.state = loadWorkflow(this.parts);
    expect(viewWorkflow(this.state)).toEqual(before);
    const again = outstanding(this.state, this.env);
    expect(again.map(({ id }) => id).sort()).toEqual(open);
    for (const effect of again) this.perform(effect);
    if (this.state.header.isCut === true) return;
    const { mayGoOn: _mayGoOn, ...patient } = this.env;
    advance(this.state, patient);
    const changes = takeChanges(this.state);
    expect(changes.put).toEqual([]);
    expect(changes.drop).toEqual([]);
  }

  perform(effect: Effect): boolean {
    switch (effect.type) {
      case "start-task": {
        const { id, nodeName } = effect.task;
        if (
          this.past.some((fact) => "task" in fact && fact.task === id && fact.type === "task-ended")
        ) return false;
        if (this.facts.some((fact) => "task" in fact && fact.task === id)) return false;
        this.facts.push({ type: "task-started", task: id, ready: true });
        const isGood = this.isGood(nodeName);
        this.facts.push({
          type: "task-ended",
          task: id,
          outcome: {
            phase: isGood ? "Succeeded" : "Failed",
            ...(isGood ? {} : { message: "no" }),
            outputs: { exitCode: isGood ? "0" : "1" },
          },
        });
        return false;
      }
      case "set-timer":
        this.timers.set(effect.id, effect.at);
        return false;
      case "clear-timer":
        this.timers.delete(effect.id);
        return false;
      case "acquire-locks":
        return this.tell(acquireLocks(this.locks, effect, this.now));
      case "release-locks":
        return this.tell(releaseLocks(this.locks, effect.holder, this.now));
      default:
        return false;
    }
  }

  tell(news: LockNews[]): boolean {
    for (const { type, holder, message = "", waiting = "" } of news) {
      const fact: Fact = type === "granted"
        ? { type: "locks-granted", holder }
        : { type: "locks-waiting", holder, message, waiting };
      const text = JSON.stringify(fact);
      if (!this.facts.some((other) => JSON.stringify(other) === text)) this.facts.push(fact);
    }
    return false;
  }

  /** One thing happens: a fact, a user's resume or stop, or time passes. */
  report(): void {
    const waiting = [...this.state.nodes.values()].filter((node) =>
      node.type === "Suspend" && node.phase === "Running" && node.dueAt === undefined
    );
    const choices = this.facts.length + waiting.length + (this.timers.size > 0 ? 1 : 0);
    if (choices === 0) return;
    const at = this.isRandom ? Math.floor(this.random() * choices) : 0;
    if (this.isRandom && this.past.length > 0 && this.random() < 0.2) {
      const old = this.past[Math.floor(this.random() * this.past.length)];
      if (old !== undefined) accept(this.state, old, this.env);
    }
    if (at < this.facts.length) {
      const [fact] = this.facts.splice(at, 1);
      if (fact === undefined) return;
      this.past.push(fact);
      accept(this.state, fact, this.env);
      return;
    }
    const node = waiting[at - this.facts.length];
    if (node !== undefined) {
      const nodeFieldSelector = `id=${node.id}`;
      control(
        this.state,
        this.isGood(node.name)
          ? { type: "resume", nodeFieldSelector }
          : { type: "stop", nodeFieldSelector, message: "no" },
        this.env,
      );
      return;
    }
    this.now += 1000;
    for (const [timer, due] of [...this.timers]) {
      if (due > this.now) continue;
      this.timers.delete(timer);
      accept(this.state, { type: "timer-fired", timer }, this.env);
    }
  }

  /** What has ended stays as it is. */
  checkEnded(): void {
    for (const node of this.state.nodes.values()) {
      if (!hasEnded(node)) {
        expect(this.ended.has(node.id), `${node.name} was over`).toBe(false);
        continue;
      }
      const { progress: _progress, outbound: _outbound, ...rest } = node;
      const text = JSON.stringify(rest);
      const before = this.ended.get(node.id);
      if (before !== undefined) expect(text).toBe(before);
      this.ended.set(node.id, text);
    }
  }
}

/** What must not depend on the order of arrival. */
function essence(state: WorkflowState) {
  const { status } = viewWorkflow(state);
  const nodes = Object.values(status?.nodes ?? {}).map((node: NodeStatus) => ({
    id: node.id,
    name: node.name,
    type: node.type,
    phase: node.phase,
    message: node.message,
    boundary: node.boundaryID,
    progress: node.progress,
    outputs: node.outputs,
    inputs: node.inputs,
    flag: node.nodeFlag,
    children: [...node.children ?? []].sort(),
    outbound: [...node.outboundNodes ?? []].sort(),
  }));
  nodes.sort((a, b) => a.name < b.name ? -1 : 1);
  return { phase: status?.phase, message: status?.message, progress: status?.progress, nodes };
}

const OWN_PROGRESS = ["Pod", "Suspend", "HTTP", "Plugin", "Container"];

/** Groups show the sum over all nodes below, each counted once. */
function checkProgress(state: WorkflowState): void {
  const nodes = viewWorkflow(state).status?.nodes ?? {};
  for (const node of Object.values(nodes)) {
    if (OWN_PROGRESS.includes(node.type)) continue;
    const below = new Set([node.id]);
    let done = 0;
    let total = 0;
    for (const id of below) {
      const one = nodes[id];
      for (const child of one?.children ?? []) below.add(child);
      if (one === undefined || !OWN_PROGRESS.includes(one.type)) continue;
      const [own = 0, of = 0] = (one.progress ?? "0/0").split("/").map(Number);
      done += own;
      total += of;
    }
    expect(node.progress, node.name).toBe(total === 0 ? undefined : `${done}/${total}`);
  }
}

const RUNS = 80;

function sample(shape: Shape, more: Partial<Child> = {}): Child {
  return { shape, loop: 0, isTolerated: false, when: "", exit: "", ...more };
}

/** A waiter for a free place was passed over because those before it could not start, and waited for ever. */
const LOST_WAITER: [Shape, parallelism: number, salt: number, seed: number] = (() => {
  const plain = { kind: "leaf", retry: 0, hasMutex: false, hasBackoff: false } as const;
  const locked = { ...plain, hasMutex: true };
  const late = { ...plain, hasBackoff: true };
  const person = { kind: "suspend", duration: false } as const;
  const task = (child: Child, needs: number[] = [], any = false) => ({ ...child, needs, any });
  const dag = (...tasks: (Child & { needs: number[]; any: boolean })[]): Shape => ({
    kind: "dag",
    tasks,
    retry: -1,
  });
  const groups = [
    [
      sample(late, { isTolerated: true, exit: "bye" }),
      sample({ ...late, retry: 2 }, { isTolerated: true, exit: "bye" }),
      sample(late, { loop: 3, isTolerated: true, exit: "bye" }),
    ],
    [sample({ ...plain, retry: 1 }, { loop: 3 })],
  ];
  const shape: Shape = {
    kind: "dag",
    retry: 1,
    tasks: [
      task(sample(locked)),
      task(sample(dag(task(sample(person, { loop: 1, when: "true" }))))),
      task(sample(
        dag(task(sample(person, { loop: 2 })), task(sample(locked, { exit: "bye" }))),
        { exit: "bye" },
      )),
      task(sample(
        dag(
          task(sample(person, { exit: "bye" })),
          task(sample({ ...late, retry: 1 }), [], true),
          task(sample(late, { loop: 2 }), [2]),
        ),
        { loop: 2, when: "true" },
      )),
      task(sample({ kind: "steps", groups, retry: 1 }, { loop: 2, isTolerated: true }), [5]),
    ],
  };
  return [shape, 1, 1394229701, 4];
})();

describe("any workflow", () => {
  test("ends with the same tree, whatever the order of arrival and however many crashes", () => {
    fc.assert(
      fc.property(shapes(2), fc.boolean(), fc.nat(), fc.nat(), (shape, onExit, salt, seed) => {
        const calm = new World(manifestOf(shape, onExit), salt, undefined);
        calm.run();
        const wild = new World(manifestOf(shape, onExit), salt, seed);
        wild.run();
        expect(essence(wild.state)).toEqual(essence(calm.state));
        for (const world of [calm, wild]) {
          checkProgress(world.state);
          for (const node of world.state.nodes.values()) {
            expect(hasEnded(node), node.name).toBe(true);
          }
          expect(world.locks.held).toEqual({});
          expect(world.locks.waiting).toEqual([]);
          expect(outstanding(world.state, world.env)).toEqual([]);
          expect(loadWorkflow(world.parts).header).toEqual(world.state.header);
        }
      }),
      { numRuns: RUNS, interruptAfterTimeLimit: 30_000 },
    );
  });

  test("shows at any time the sum over all nodes below as the progress of a group", () => {
    fc.assert(
      fc.property(shapes(3), fc.boolean(), fc.nat(), fc.nat(), (shape, onExit, salt, seed) => {
        const world = new World(manifestOf(shape, onExit), salt, seed);
        const advance = world.advance.bind(world);
        world.advance = () => {
          advance();
          if (world.random() < 0.2) checkProgress(world.state);
        };
        world.run();
        checkProgress(world.state);
        if (world.state.header.phase === "Succeeded") return;
        world.ended.clear();
        control(world.state, { type: "retry" }, world.env);
        world.run();
        checkProgress(world.state);
      }),
      { numRuns: RUNS / 4, interruptAfterTimeLimit: 30_000 },
    );
  });

  test("has the same nodes in the same order however short its turns are", () => {
    const parallelisms = fc.option(fc.integer({ min: 1, max: 3 }), { nil: undefined });
    fc.assert(
      fc.property(
        shapes(2),
        fc.boolean(),
        parallelisms,
        fc.nat(),
        fc.nat(),
        (shape, onExit, parallelism, salt, seed) => {
          const { metadata, spec } = manifestOf(shape, onExit);
          const manifest = {
            metadata,
            spec: { ...spec, ...(parallelism === undefined ? {} : { parallelism }) },
          };
          const patient = new World(manifest, salt, undefined);
          patient.run();
          const hasty = new World(manifest, salt, seed, true);
          hasty.run();
          expect(viewWorkflow(hasty.state)).toEqual(viewWorkflow(patient.state));
          const inOrder = ({ state }: World) =>
            [...state.nodes.values()].sort((a, b) => a.order - b.order).map(({ name }) => name);
          // The order in which two attempts due at the same time were woken is not stored, and nobody sees it.
          if (!hasty.hasDied) expect(inOrder(hasty)).toEqual(inOrder(patient));
        },
      ),
      { numRuns: RUNS, interruptAfterTimeLimit: 30_000 },
    );
  });

  test("never has more active pods than its parallelism, and still ends", () => {
    fc.assert(
      fc.property(
        shapes(2),
        fc.integer({ min: 1, max: 3 }),
        fc.nat(),
        fc.nat(),
        (shape, parallelism, salt, seed) => {
          const manifest = manifestOf(shape, false);
          const world = new World(
            { ...manifest, spec: { ...manifest.spec, parallelism } },
            salt,
            seed,
          );
          const advanceAndCount = world.advance.bind(world);
          world.advance = () => {
            advanceAndCount();
            expect(world.state.runtime.activePods).toBeLessThanOrEqual(parallelism);
          };
          world.run();
          for (const node of world.state.nodes.values()) {
            expect(hasEnded(node), node.name).toBe(
              true,
            );
          }
        },
      ),
      { numRuns: RUNS, interruptAfterTimeLimit: 30_000, examples: [LOST_WAITER] },
    );
  });

  test("ends at once after a stop or terminate, exit handlers apart, and can be retried", () => {
    fc.assert(
      fc.property(
        shapes(2),
        fc.boolean(),
        fc.nat(),
        fc.nat(),
        fc.nat(30),
        (shape, isHard, salt, seed, after) => {
          const world = new World(manifestOf(shape, true), salt, seed);
          world.advance();
          for (
            let round = 0;
            round < after && world.state.header.finishedAt === undefined;
            round++
          ) {
            world.report();
            world.advance();
          }
          if (world.state.header.finishedAt === undefined) {
            control(world.state, { type: isHard ? "terminate" : "stop" }, world.env);
            world.run();
          }
          for (const node of world.state.nodes.values()) {
            expect(hasEnded(node), node.name).toBe(
              true,
            );
          }
          expect(world.locks.held).toEqual({});
          if (world.state.header.phase === "Succeeded") return;
          world.ended.clear();
          world.facts.length = 0;
          world.timers.clear();
          control(world.state, { type: "retry" }, world.env);
          world.run();
          checkProgress(world.state);
          for (const node of world.state.nodes.values()) {
            expect(hasEnded(node), node.name).toBe(
              true,
            );
          }
        },
      ),
      { numRuns: RUNS, interruptAfterTimeLimit: 30_000 },
    );
  });
});
