/** A request about many waiting nodes does to each what it would do to it alone, wherever turns end and the process dies. */
import { partsByKey } from "../../base/part_text.ts";
import { expect, test } from "vitest";
import { STANDARD_NAMING } from "../../spec/naming.ts";
import { advance } from "../advance.ts";
import { loadWorkflow, takeChanges } from "../codec.ts";
import type { ControlRequest } from "../command.ts";
import { control } from "./control.ts";
import { createWorkflow } from "../create.ts";
import type { EngineEnv } from "../engine.ts";

/** More nodes than are changed at once. */
const WIDTH = 600;

/** A workflow that waits in a loop, with a step after it. */
function waiting(width: number, questions = Infinity) {
  let left = Infinity;
  const env: EngineEnv = {
    now: Date.UTC(2024, 0, 1),
    randomSuffix: (length) => "x".repeat(length),
    findManifest: () => null,
    ...STANDARD_NAMING,
    mayGoOn: () => --left > 0,
  };
  const parts: Record<string, string> = {};
  let state = createWorkflow({
    metadata: {
      name: "wf",
      namespace: "ns",
      uid: "u",
      creationTimestamp: "2024-01-01T00:00:00Z",
    },
    spec: {
      entrypoint: "main",
      templates: [
        {
          name: "main",
          steps: [
            [{ name: "a", template: "w", withSequence: { count: String(width) } }],
            [{ name: "b", template: "w" }],
          ],
        },
        { name: "w", suspend: {} },
      ],
    },
  }, env);
  const story = {
    turn() {
      if (state.orders !== undefined) left = questions;
      else left = Infinity;
      advance(state, env);
      const { put, drop } = takeChanges(state);
      for (const key of drop) delete parts[key];
      Object.assign(parts, partsByKey(put));
      return put.length;
    },
    ask(request: ControlRequest) {
      control(state, request, env);
    },
    /** Takes turns until nothing is left. On request the process dies after each. */
    rest(dies = false): number {
      for (let turns = 1;; turns++) {
        story.turn();
        if (state.header.isCut !== true) return turns;
        if (dies && state.orders !== undefined) state = loadWorkflow(parts);
      }
    },
    nodes: () =>
      [...state.nodes.values()].map(({ name, type, phase, message, progress }) => ({
        ...{ name, type, phase, message, progress },
      })),
    parts,
  };
  story.rest();
  return story;
}

const REQUESTS: Record<string, ControlRequest> = {
  "resume": { type: "resume", user: { subject: "me" } },
  "resume by selector": { type: "resume", nodeFieldSelector: "templateName=w", user: {} },
  "set of a phase": {
    type: "set",
    nodeFieldSelector: "templateName=w",
    phase: "Failed",
    message: "no",
  },
  "set of a message": { type: "set", nodeFieldSelector: "templateName=w", message: "soon" },
  "stop by selector": { type: "stop", nodeFieldSelector: "templateName=w", message: "enough" },
};

test.each(Object.entries(REQUESTS))("%s", (_title, request) => {
  const small = waiting(3);
  small.ask(request);
  small.rest();
  const of = (nodes: ReturnType<typeof small.nodes>, name: string) =>
    nodes.find((node) => node.name === name);
  const whole = waiting(WIDTH);
  whole.ask(request);
  whole.rest();
  for (const name of ["wf", "wf[0]", "wf[0].a(1:1)", "wf[1]", "wf[1].b"]) {
    expect(of(whole.nodes(), name), name).toEqual(of(small.nodes(), name));
  }
  for (const dies of [false, true]) {
    const cut = waiting(WIDTH, 10);
    cut.ask(request);
    expect(cut.turn()).toBeLessThan(100);
    expect(cut.parts["o"]).toBeDefined();
    expect(cut.rest(dies)).toBeGreaterThan(10);
    expect(cut.parts["o"]).toBeUndefined();
    expect(cut.nodes()).toEqual(whole.nodes());
  }
});

test("when the workflow ends, the progress of many nodes is brought up to date in several turns", () => {
  const story = waiting(2_500);
  story.ask({ type: "resume" });
  story.rest();
  story.ask({ type: "resume" });
  let most = 0;
  for (let turns = 0; turns < 20; turns++) most = Math.max(most, story.turn());
  expect(most).toBeLessThan(1_500);
  const pods = story.nodes().filter(({ type }) => type === "Suspend");
  expect(pods).toHaveLength(2_501);
  expect(new Set(pods.map(({ progress }) => progress))).toEqual(new Set(["1/1"]));
});

test("between its turns another request can end a node, and a stop can end all", () => {
  const story = waiting(WIDTH, 10);
  story.ask({ type: "set", nodeFieldSelector: "templateName=w", message: "soon" });
  story.turn();
  const last = `wf[0].a(${WIDTH - 1}:${WIDTH - 1})`;
  story.ask({ type: "stop", nodeFieldSelector: `name=${last}`, message: "mine" });
  story.ask({ type: "stop" });
  story.rest();
  const nodes = story.nodes();
  expect(nodes.find(({ name }) => name === last)).toMatchObject({
    phase: "Failed",
    message: "mine",
  });
  expect(nodes.filter(({ phase }) => phase === "Running")).toEqual([]);
});

test("between its turns a later request about its nodes is refused", () => {
  for (const dies of [false, true]) {
    const story = waiting(WIDTH, 10);
    story.ask({ type: "resume", nodeFieldSelector: "templateName=w" });
    story.turn();
    const nodeFieldSelector = `name=wf[0].a(${WIDTH - 1}:${WIDTH - 1})`;
    expect(() => story.ask({ type: "stop", nodeFieldSelector, message: "late" })).toThrow(
      "no suspend nodes matching",
    );
    story.ask({ type: "resume" });
    story.rest(dies);
    const phases = story.nodes().filter(({ name }) => name.startsWith("wf[0].a"))
      .map(({ phase }) => phase);
    expect(new Set(phases)).toEqual(new Set(["Succeeded"]));
  }
});
