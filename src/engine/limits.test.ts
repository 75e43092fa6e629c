/** Workflows that grow without end, in many ways: each ends in Error, and none of its turns is long. */
import { partsByKey } from "../base/part_text.ts";
import { STANDARD_NAMING } from "../spec/naming.ts";
import process from "node:process";
import { describe, expect, test } from "vitest";
import type { Workflow, WorkflowSpec } from "../spec/manifest.ts";
import { accept } from "./accept.ts";
import { advance } from "./advance.ts";
import { loadWorkflow, takeChanges } from "./codec.ts";
import { createWorkflow } from "./create.ts";
import type { EngineEnv } from "./engine.ts";
import type { WorkflowState } from "./state.ts";
import { hasEnded } from "./records.ts";
import { viewWorkflow } from "./view.ts";

const LIMITS = { nodes: 3_000, bytes: 4_000_000 };
/** Pieces of work in one turn. */
const PIECES = 200;
/** Pieces of work between two looks at the clock. */
const PER_QUESTION = 4;

const waiting = { name: "w", suspend: {} };
const leaf = { name: "c", container: { image: "i", command: ["c"] } };
const one = (name: string, value?: string) => ({
  parameters: [{ name, ...(value === undefined ? {} : { value }) }],
});

function recursion(more: object): WorkflowSpec {
  const again = (name: string) => ({ name, template: "r", ...more });
  return {
    entrypoint: "r",
    arguments: one("go", "yes"),
    templates: [
      { name: "r", steps: [[{ name: "s", template: "w" }, again("a"), again("b")]] },
      waiting,
    ],
  };
}

function loops(outer: object, inner: object, template = "w", more: object = {}): WorkflowSpec {
  return {
    entrypoint: "main",
    arguments: one("n", "900"),
    ...more,
    templates: [
      { name: "main", steps: [[{ name: "a", template: "inner", ...outer }]] },
      { name: "inner", dag: { tasks: [{ name: "b", template, ...inner }] } },
      waiting,
      leaf,
    ],
  };
}

/** A loop with a long argument. */
function longArguments(count: string, length: number): WorkflowSpec {
  return {
    entrypoint: "main",
    arguments: one("x", "x".repeat(length)),
    templates: [
      {
        name: "main",
        steps: [[{
          name: "a",
          template: "t",
          withSequence: { count },
          arguments: one("x", "{{workflow.parameters.x}}{{item}}"),
        }]],
      },
      { name: "t", inputs: one("x"), suspend: {} },
    ],
  };
}

const doubling: WorkflowSpec = {
  entrypoint: "r",
  arguments: one("x", "x".repeat(100)),
  templates: [{
    name: "r",
    inputs: one("x"),
    steps: [[{
      name: "s",
      template: "r",
      arguments: one("x", "{{inputs.parameters.x}}{{inputs.parameters.x}}"),
    }]],
  }],
};

const outputs: WorkflowSpec = {
  entrypoint: "main",
  templates: [
    { name: "main", steps: [[{ name: "a", template: "t", withSequence: { count: "500" } }]] },
    {
      name: "t",
      steps: [[{ name: "s", template: "w", when: "false" }]],
      outputs: {
        parameters: [{ name: "o", valueFrom: { expression: "sprig.repeat(50000, 'x')" } }],
      },
    },
    waiting,
  ],
};

/** Little of it is stored, but its templates are large once their tags are filled in. */
const largeTemplates: WorkflowSpec = {
  ...recursion({}),
  arguments: one("x", "x".repeat(30_000)),
  templates: [
    {
      name: "r",
      steps: [[
        {
          name: "s",
          template: "t",
          when: "false",
          arguments: one("x", "{{workflow.parameters.x}}{{workflow.parameters.x}}"),
        },
        { name: "a", template: "r" },
        { name: "b", template: "r" },
      ]],
    },
    { name: "t", inputs: one("x"), suspend: {} },
  ],
};

const BY_NODES = /--max-nodes allows 3000/;
const BY_BYTES = /--max-workflow-bytes allows 4000000/;
const sequence = { withSequence: { count: "{{workflow.parameters.n}}" } };

const FORMS: Record<string, [WorkflowSpec, RegExp]> = {
  "recursion": [recursion({}), BY_NODES],
  "recursion under a condition": [
    recursion({ when: "{{workflow.parameters.go}} == yes" }),
    BY_NODES,
  ],
  "recursion in hooks": [recursion({ onExit: "r" }), BY_NODES],
  "recursion with retries": [
    { ...recursion({}), templateDefaults: { retryStrategy: { limit: 3 } } },
    BY_NODES,
  ],
  "loop around a loop": [loops(sequence, sequence), BY_NODES],
  "loop around a loop of containers": [loops(sequence, sequence, "c"), BY_NODES],
  "loop around a loop of what is skipped": [
    loops(sequence, { ...sequence, when: "'{{item}}' == 'never'" }),
    BY_NODES,
  ],
  "loop around a loop with parallelism": [
    loops(sequence, sequence, "c", { parallelism: 2 }),
    /^$/,
  ],
  "one long loop": [
    { ...loops(sequence, sequence), arguments: one("n", "3001") },
    /a loop has 3001 elements: --max-nodes allows 3000/,
  ],
  "one long list": [
    {
      ...loops({ withParam: "{{workflow.parameters.n}}" }, {}),
      arguments: one("n", JSON.stringify(Array.from({ length: 4_000 }, (_, index) => index))),
    },
    /a loop has 4000 elements: --max-nodes allows 3000/,
  ],
  "retries without end": [
    {
      entrypoint: "main",
      templates: [{
        name: "main",
        retryStrategy: { limit: 1_000_000, retryPolicy: "Always" },
        steps: [[{ name: "s", template: "w", when: "{{=asInt('x')}} == 1" }]],
      }, waiting],
    },
    BY_NODES,
  ],
  "long arguments": [longArguments("2000", 5_000), BY_BYTES],
  "doubling arguments": [doubling, BY_BYTES],
  "long outputs": [outputs, BY_BYTES],
  "large templates": [largeTemplates, BY_NODES],
};

/** A workflow that runs turn by turn, and is loaded again now and then. */
function live(spec: WorkflowSpec, limits = LIMITS) {
  const workflow: Workflow = {
    metadata: {
      name: "wf",
      namespace: "ns",
      uid: "u",
      creationTimestamp: "2024-01-01T00:00:00Z",
    },
    spec,
  };
  let left = PIECES / PER_QUESTION;
  const env: EngineEnv = {
    now: Date.UTC(2024, 0, 1),
    randomSuffix: (length) => "x".repeat(length),
    findManifest: () => null,
    ...STANDARD_NAMING,
    apiGroup: "argoproj.io",
    limits,
    mayGoOn: () => --left > 0,
  };
  let state: WorkflowState = createWorkflow(workflow, env);
  const parts: Record<string, string> = {};
  const seen = { turns: 0, nodes: 0, nodesInTurn: 0, charactersInTurn: 0, effectsInTurn: 0 };
  for (let isCut = true; isCut;) {
    left = PIECES / PER_QUESTION;
    advance(state, env);
    const { put, effects } = takeChanges(state);
    Object.assign(parts, partsByKey(put));
    const texts = put.map(({ text }) => text);
    seen.turns++;
    seen.nodes = state.nodes.size;
    seen.nodesInTurn = Math.max(seen.nodesInTurn, texts.length);
    seen.charactersInTurn = Math.max(
      seen.charactersInTurn,
      texts.reduce((sum, text) => sum + text.length, 0),
    );
    seen.effectsInTurn = Math.max(seen.effectsInTurn, JSON.stringify(effects).length);
    isCut = effects.some((effect) => effect.type === "set-timer" && effect.id === "go-on");
    if (!isCut) break;
    if (seen.turns > 5_000) throw new Error("it never rests");
    if (seen.turns % 50 === 0) state = loadWorkflow(parts);
    accept(state, { type: "timer-fired", timer: "go-on" }, env);
  }
  return { state, seen };
}

test("nodes of megabytes are made one in each turn", () => {
  const task = (at: number) => ({ name: `t${at}`, template: "t" });
  const { seen } = live({
    entrypoint: "main",
    arguments: one("x", "x".repeat(2_500_000)),
    templates: [
      { name: "main", dag: { tasks: Array.from({ length: 8 }, (_, at) => task(at)) } },
      { name: "t", inputs: one("x", "{{workflow.parameters.x}}"), container: { image: "i" } },
    ],
  }, { nodes: 100, bytes: 64_000_000 });
  expect(seen.nodes).toBe(9);
  // The first turn also stores the spec.
  expect(seen.charactersInTurn).toBeLessThan(6_000_000);
});

test("tasks with long texts are started a few in each turn", () => {
  const { seen } = live({
    entrypoint: "main",
    templates: [
      { name: "main", steps: [[{ name: "a", template: "t", withSequence: { count: "100" } }]] },
      { name: "t", script: { image: "i", command: ["sh"], source: "x".repeat(500_000) } },
    ],
  }, { nodes: 200, bytes: 64_000_000 });
  expect(seen.nodes).toBe(102);
  expect(seen.effectsInTurn).toBeLessThan(3_500_000);
});

describe("a workflow that grows without end", () => {
  test.each(Object.entries(FORMS))("by %s", (_form, [spec, message]) => {
    const { state, seen } = live(spec);
    expect(state.header.message ?? "").toMatch(message);
    expect(seen.nodes).toBeLessThanOrEqual(LIMITS.nodes);
    // A piece of work changes its node and some nodes around it.
    expect(seen.nodesInTurn).toBeLessThan(4 * PIECES);
    expect(seen.charactersInTurn).toBeLessThan(LIMITS.bytes + 2_500_000);
    // Workflows that wait for a free place have not ended, and are small.
    if (message.source === "^$") return;
    expect(state.header.phase).toBe("Error");
    for (const node of state.nodes.values()) expect(hasEnded(node), node.name).toBe(true);
  });
});

test("long texts into which each element of a loop brings little count with all that they hold", () => {
  const spec = longArguments("2000", 0);
  const [step] = spec.templates?.[0]?.steps?.[0] ?? [];
  Object.assign(step ?? {}, { arguments: one("x", `${"x".repeat(5_000)}{{item}}`) });
  const { state, seen } = live(spec);
  expect(state.header.message)
    .toMatch(/^the arguments of its loops have 4\d{6} bytes: --max-workflow-bytes allows 4000000$/);
  expect(seen.nodes).toBeLessThan(3);
});

test("a workflow with as many nodes as it may have is carried out", () => {
  const { state, seen } = live(loops({ withSequence: { count: "20" } }, {
    withSequence: { count: "140" },
  }));
  expect(state.header.phase).toBe("Running");
  expect(seen.nodes).toBe(2 + 20 * (2 + 140));
});

test("wide loops that depend on each other have a graph of bounded size", () => {
  const tasks = Array.from({ length: 1_200 }, (_, index) => ({
    name: `t${index}`,
    template: "w",
    depends: "first",
    when: "false",
  }));
  const { state } = live({
    entrypoint: "main",
    templates: [
      {
        name: "main",
        dag: {
          tasks: [
            { name: "first", template: "w", withSequence: { count: "1300" }, when: "false" },
            ...tasks,
          ],
        },
      },
      waiting,
    ],
  });
  const nodes = Object.values(viewWorkflow(state).status?.nodes ?? {});
  const edges = nodes.reduce((sum, { children = [] }) => sum + children.length, 0);
  expect(nodes.length).toBeGreaterThan(2_400);
  expect(edges).toBeGreaterThan(900_000);
  expect(edges).toBeLessThan(1_100_000);
});

/** A new workflow whose turns are over at their first look at the clock. */
function begunHastily(spec: WorkflowSpec): { state: WorkflowState; env: EngineEnv } {
  const metadata = { name: "x", namespace: "default", uid: "u" };
  const env: EngineEnv = {
    now: Date.UTC(2024, 0, 1),
    randomSuffix: (length) => "x".repeat(length),
    findManifest: () => null,
    ...STANDARD_NAMING,
    mayGoOn: () => false,
  };
  return { state: createWorkflow({ metadata, spec }, env, true), env };
}

function turnsOf(spec: WorkflowSpec): { state: WorkflowState; turns: number } {
  const { state, env } = begunHastily(spec);
  let turns = 0;
  do {
    advance(state, env);
    takeChanges(state);
    turns++;
  } while (state.header.isCut === true && turns < 1_000);
  return { state, turns };
}

test("a turn may end between elements of a loop whose expressions are slow", () => {
  const spec = (expression: string): WorkflowSpec => ({
    entrypoint: "main",
    templates: [
      {
        name: "main",
        steps: [[{
          name: "a",
          template: "t",
          withSequence: { count: "40" },
          arguments: one("x", `{{=${expression}}}`),
        }]],
      },
      { ...waiting, name: "t", inputs: one("x") },
    ],
  });
  const cheap = turnsOf(spec("item"));
  const dear = turnsOf(spec("string(len(map(1..20000, # + 1))) + item"));
  expect([cheap.state.nodes.size, dear.state.nodes.size]).toEqual([42, 42]);
  expect(dear.turns - cheap.turns).toBeGreaterThan(30);
});

test("the time to begin a wide DAG grows with the number of its tasks, not with its square", () => {
  const begin = (count: number) => {
    const tasks = Array.from({ length: count }, (_, at) => ({ name: `t${at}`, template: "w" }));
    const { state, env } = begunHastily({
      entrypoint: "main",
      templates: [{ name: "main", dag: { tasks } }, waiting],
    });
    const before = process.cpuUsage();
    advance(state, env);
    const { user, system } = process.cpuUsage(before);
    expect(state.nodes.size).toBeLessThan(10);
    return (user + system) / 1000;
  };
  begin(1_000);
  expect(begin(40_000)).toBeLessThan(1_000);
});

test("an import with more nodes than a workflow may have is refused", () => {
  const nodes = Object.fromEntries(Array.from({ length: 11 }, (_, at) => {
    const id = `x-${at}`;
    return [id, {
      id,
      name: id,
      displayName: id,
      type: "Pod" as const,
      phase: "Succeeded" as const,
      startedAt: null,
      finishedAt: null,
    }];
  }));
  const workflow: Workflow = {
    metadata: { name: "x", namespace: "default", uid: "u" },
    spec: { entrypoint: "w", templates: [waiting] },
    status: { phase: "Succeeded", startedAt: null, finishedAt: null, nodes },
  };
  const env: EngineEnv = {
    now: 0,
    randomSuffix: (length) => "x".repeat(length),
    findManifest: () => null,
    ...STANDARD_NAMING,
    limits: { nodes: 10, bytes: 1_000_000 },
  };
  expect(() => createWorkflow(workflow, env)).toThrow(
    "status.nodes has 11 nodes: --max-nodes allows 10",
  );
  expect(createWorkflow(workflow, { ...env, limits: { nodes: 11, bytes: 1e6 } }).nodes.size).toBe(
    11,
  );
});
