/**
 * Random workflows, what their tasks do, and what users ask meanwhile. Their parts are those that depend on each other most:
 * groups in groups, loops, hooks, retries, locks, places, daemons, steps that wait.
 */
import fc from "fast-check";
import type { ControlRequest } from "../../src/engine/command.ts";
import type { TaskRule } from "../../src/simulation/task_rule.ts";
import type {
  DagTask,
  StepLike,
  Synchronization,
  Template,
  Workflow,
} from "../../src/spec/manifest.ts";

/** What a user asks, and when. */
export interface Order {
  second: number;
  request: ControlRequest;
}

export interface RandomRun {
  workflow: Workflow;
  rules: TaskRule[];
  orders: Order[];
}

const CONTAINER = { image: "i" };

/** Templates without steps, by name. */
const LEAVES: Record<string, Omit<Template, "name">> = {
  work: { container: CONTAINER },
  again: { container: CONTAINER, retryStrategy: { limit: 1 } },
  later: { container: CONTAINER, retryStrategy: { limit: 1, backoff: { duration: "2" } } },
  judged: {
    container: CONTAINER,
    retryStrategy: {
      limit: 2,
      expression: "lastRetry.exitCode != '3'",
      backoff: { duration: "1", factor: 3, cap: "2" },
    },
  },
  "on-error": { container: CONTAINER, retryStrategy: { limit: 2, retryPolicy: "OnError" } },
  timed: { container: CONTAINER, activeDeadlineSeconds: 2 },
  daemon: { container: CONTAINER, daemon: true },
  "daemon-again": { container: CONTAINER, daemon: true, retryStrategy: { limit: 1 } },
  set: {
    containerSet: {
      containers: [{ name: "first", image: "i" }, {
        name: "main",
        image: "i",
        dependencies: ["first"],
      }],
    },
  },
  pause: { suspend: { duration: "2" } },
  hold: { suspend: {} },
  ask: {
    suspend: { duration: "1" },
    outputs: { parameters: [{ name: "o", valueFrom: { supplied: {} } }] },
  },
  answer: {
    inputs: { parameters: [{ name: "o", default: "no", enum: ["no", "yes"] }] },
    suspend: { duration: "1" },
    outputs: { parameters: [{ name: "o", valueFrom: { supplied: {} } }] },
  },
  make: {
    container: CONTAINER,
    outputs: {
      parameters: [
        { name: "list", valueFrom: { path: "/list" }, globalName: "list" },
        { name: "known", valueFrom: { path: "/known", default: "[3]" } },
      ],
    },
  },
  take: {
    inputs: { parameters: [{ name: "x", default: "d" }] },
    container: CONTAINER,
  },
  locked: { container: CONTAINER, synchronization: { mutexes: [{ name: "m" }] } },
  "locked-again": {
    container: CONTAINER,
    retryStrategy: { limit: 1 },
    synchronization: {
      mutexes: [{ name: "m" }],
      semaphores: [{ configMapKeyRef: { name: "locks", key: "two" } }],
    },
  },
  bounded: {
    container: CONTAINER,
    synchronization: { semaphores: [{ configMapKeyRef: { name: "locks", key: "two" } }] },
  },
  memo: {
    container: CONTAINER,
    memoize: { key: "k", cache: { configMap: { name: "cache", key: "" } } },
  },
  call: { http: { url: "http://x" } },
};

/** The ConfigMap that the semaphores are in. */
export const LOCKS = {
  metadata: { name: "locks" },
  data: { two: "2" },
};

/** Hooks of a step, by kind. */
const HOOKS: Record<string, (root: string, step: string) => StepLike["hooks"]> = {
  none: () => ({}),
  exit: () => ({ exit: { template: "work" } }),
  running: (root, step) => ({
    exit: { template: "again" },
    run: { template: "work", expression: `${root}.${step}.status == "Running"` },
  }),
  "two of a kind": (root, step) => ({
    bad: { template: "work", expression: `${root}.${step}.status == "Failed"` },
    over: { template: "locked", expression: `${root}.${step}.status != "Running"` },
  }),
  "of another": (root) => ({
    run: { template: "work", expression: `${root}.s1.status == "Failed"` },
  }),
  malformed: () => ({ run: { template: "work", expression: "1 +" } }),
  failing: (root, step) => ({
    run: { template: "work", expression: `asInt(${root}.${step}.status) == 1` },
  }),
  "malformed exit": () => ({ exit: { template: "work", expression: "1 +" } }),
};

const LOOPS: Record<string, (earlier: string | undefined) => Partial<StepLike>> = {
  none: () => ({}),
  items: () => ({ withItems: ["a", "b", "c"] }),
  empty: () => ({ withItems: [] }),
  result: (earlier) =>
    earlier === undefined
      ? { withSequence: { count: 2 } }
      : { withParam: `{{${earlier}.outputs.result}}` },

  list: (earlier) =>
    earlier === undefined ? {} : { withParam: `{{${earlier}.outputs.parameters.list}}` },
  known: (earlier) =>
    earlier === undefined ? {} : { withParam: `{{${earlier}.outputs.parameters.known}}` },
};

const WHENS: Record<string, (earlier: string | undefined) => Partial<StepLike>> = {
  none: () => ({}),
  no: () => ({ when: "a == b" }),
  wrong: () => ({ when: "a b" }),
  earlier: (earlier) => earlier === undefined ? {} : { when: `{{${earlier}.status}} == Succeeded` },
};

const DEPENDS: Record<string, (task: string) => Partial<DagTask>> = {
  plain: (task) => ({ depends: task }),
  old: (task) => ({ dependencies: [task] }),
  any: (task) => ({ depends: `${task} || ${task}.Failed || ${task}.Errored || ${task}.Omitted` }),
  failed: (task) => ({ depends: `${task}.Failed` }),
  daemoned: (task) => ({ depends: `${task}.Daemoned || ${task}.Succeeded` }),
};

interface Call {
  template: Shape;
  loop: string;
  hooks: string;
  when: string;
  depends: string;
  continueOn: { failed?: boolean; error?: boolean } | undefined;
}

type Shape = string | {
  isDag: boolean;
  calls: Call[];
  settings: Omit<Template, "name">;
  isFailFast: boolean;
  hasOutput: boolean;
};

/** Mostly the first of some texts. */
function mostly(record: Record<string, unknown>): fc.Arbitrary<string> {
  const [first = "", ...others] = Object.keys(record);
  return fc.oneof(
    { weight: 3, arbitrary: fc.constant(first) },
    { weight: 2, arbitrary: fc.constantFrom(...others) },
  );
}

/** @param depth what is around it has another lock, or it would wait for itself */
const settings = (depth: number): fc.Arbitrary<Omit<Template, "name">> =>
  fc.record({
    parallelism: fc.constantFrom(1, 2, 3),
    failFast: fc.constant(true),
    retryStrategy: fc.constantFrom(
      { limit: 1 },
      { limit: 1, retryPolicy: "Always" as const },
      { limit: 2, expression: "lastRetry.status == 'Failed'", backoff: { duration: "1" } },
    ),
    synchronization: fc.constant({ mutexes: [{ name: `group-${depth}` }] }),
  }, { requiredKeys: [] });

function shapes(depth: number): fc.Arbitrary<Shape> {
  const leaf = fc.oneof(
    { weight: 2, arbitrary: fc.constant("work") },
    { weight: 3, arbitrary: fc.constantFrom(...Object.keys(LEAVES)) },
  );
  if (depth === 0) return leaf;
  const call = fc.record({
    template: fc.oneof(leaf, shapes(depth - 1)),
    loop: mostly(LOOPS),
    hooks: mostly(HOOKS),
    when: mostly(WHENS),
    depends: mostly(DEPENDS),
    continueOn: fc.constantFrom(undefined, undefined, { failed: true }, {
      failed: true,
      error: true,
    }),
  });
  return fc.record({
    isDag: fc.boolean(),
    calls: fc.array(call, { minLength: 1, maxLength: 4 }),
    settings: fc.oneof(fc.constant({}), settings(depth)),
    isFailFast: fc.boolean(),
    hasOutput: fc.boolean(),
  });
}

function stepOf(call: Call, at: number, template: string, isDag: boolean): DagTask {
  const root = isDag ? "tasks" : "steps";
  const before = isDag ? at - 2 : at < 3 ? -1 : 0;
  const earlier = before < 0 ? undefined : `${root}.s${before}`;
  const depends = isDag && before >= 0 ? DEPENDS[call.depends]?.(`s${before}`) ?? {} : {};
  const value = earlier === undefined ? "1" : `{{${earlier}.outputs.result}}`;
  return {
    name: `s${at}`,
    template,
    ...(template === "take" ? { arguments: { parameters: [{ name: "x", value }] } } : {}),
    ...LOOPS[call.loop]?.(earlier),
    ...WHENS[call.when]?.(earlier),
    ...depends,
    hooks: HOOKS[call.hooks]?.(root, `s${at}`) ?? {},
    ...(call.continueOn === undefined || "depends" in depends
      ? {}
      : { continueOn: call.continueOn }),
  };
}

function templatesOf(shape: Shape): { templates: Template[]; entrypoint: string } {
  const templates: Template[] = Object.entries(LEAVES).map(([name, leaf]) => ({ name, ...leaf }));
  const add = (one: Shape): string => {
    if (typeof one === "string") return one;
    const name = `t${templates.length}`;
    const template: Template = { name, ...one.settings };
    templates.push(template);
    const steps = one.calls.map((call, at) => stepOf(call, at, add(call.template), one.isDag));
    const root = one.isDag ? "tasks" : "steps";
    if (one.hasOutput) {
      const valueFrom = { parameter: `{{${root}.s0.outputs.result}}`, default: "[4]" };
      template.outputs = { parameters: [{ name: "list", valueFrom, globalName: name }] };
    }
    if (one.isDag) template.dag = { tasks: steps, failFast: one.isFailFast };
    else template.steps = [steps.slice(0, 3), steps.slice(3)].filter(({ length }) => length > 0);
    return name;
  };
  const entrypoint = add(shape);
  return { templates, entrypoint };
}

const rules: fc.Arbitrary<TaskRule[]> = fc.array(
  fc.record({
    node: fc.constantFrom(
      ...["\\(0\\)$", "\\(1\\)$", "s0$", "s1", "s2$", "b\\)", "onExit", "run", "."],
    ),
    outcome: fc.constantFrom<NonNullable<TaskRule["outcome"]>>("Succeeded", "Failed", "Error"),
    after: fc.integer({ min: 1, max: 4 }),
    exitCode: fc.constantFrom(1, 3),
    parameters: fc.constantFrom({ list: "[1,2]", known: "[]" }, {}),
  }),
  { maxLength: 4 },
);

const requests: readonly ControlRequest[] = [
  { type: "suspend" },
  { type: "resume" },
  { type: "stop" },
  { type: "terminate" },
  { type: "resume", nodeFieldSelector: "templateName=hold" },
  { type: "stop", nodeFieldSelector: "templateName=hold", message: "no" },
  { type: "set", nodeFieldSelector: "templateName=ask", outputParameters: '{"o":"1"}' },
  { type: "set", nodeFieldSelector: "templateName=answer", phase: "Failed", message: "no" },
  { type: "retry" },
  { type: "retry", restartSuccessful: true, nodeFieldSelector: "displayName=s0" },
  { type: "retry", restartSuccessful: true, nodeFieldSelector: "templateName=work" },
];

const orders: fc.Arbitrary<Order[]> = fc.array(
  fc.record({ second: fc.integer({ min: 1, max: 30 }), request: fc.constantFrom(...requests) }),
  { maxLength: 4 },
);

/** A workflow `w`, what its tasks do, and what users ask. @param depth of templates in templates */
export function randomRuns(depth: number): fc.Arbitrary<RandomRun> {
  return fc.record({
    shape: shapes(depth),
    rules,
    orders: fc.oneof(fc.constant<Order[]>([]), orders),
    spec: fc.record({
      parallelism: fc.constantFrom(1, 2, 3),
      onExit: fc.constantFrom("work", "again"),
      retryStrategy: fc.constant({ limit: 1 }),
      synchronization: fc.constant<Synchronization>({ mutexes: [{ name: "whole" }] }),
      activeDeadlineSeconds: fc.integer({ min: 3, max: 9 }),
      hooks: fc.constant({
        over: { template: "work", expression: 'workflow.status == "Failed"' },
        run: { template: "work", expression: 'workflow.status == "Running"' },
      }),
    }, { requiredKeys: [] }),
  }).map(({ shape, spec, ...others }) => ({
    ...others,
    workflow: { metadata: { name: "w" }, spec: { ...templatesOf(shape), ...spec } },
  }));
}
