/** The retry of many nodes gives the same tree wherever its turns end and whenever the process dies. */
import { partsByKey } from "../../base/part_text.ts";
import { describe, expect, test } from "vitest";
import { Problem } from "../../base/problem.ts";
import { STANDARD_NAMING } from "../../spec/naming.ts";
import type { Workflow } from "../../spec/manifest.ts";
import { accept } from "../accept.ts";
import { advance } from "../advance.ts";
import { loadWorkflow, takeChanges } from "../codec.ts";
import type { ControlRequest } from "../command.ts";
import { control } from "./control.ts";
import { createWorkflow } from "../create.ts";
import type { Effect } from "../effect.ts";
import type { EngineEnv } from "../engine.ts";
import type { WorkflowState } from "../state.ts";
import { viewWorkflow } from "../view.ts";

/** Elements of each loop, more than a retry changes at once. */
const WIDTH = 170;

const loop = { withSequence: { count: String(WIDTH) } };
const last = { parameters: [{ name: "item", value: "{{item}}" }] };

/** What is `after` loops, groups around nested groups, attempts, tasks, daemons, and an exit handler. */
const WORKFLOW: Workflow = {
  metadata: {
    name: "wf",
    namespace: "ns",
    uid: "u",
    creationTimestamp: "2024-01-01T00:00:00Z",
  },
  spec: {
    entrypoint: "main",
    onExit: "exit",
    templates: [
      {
        name: "main",
        dag: {
          tasks: [
            { name: "a", template: "some", arguments: last, ...loop },
            { name: "b", template: "pair", depends: "a.Succeeded || a.Failed" },
            { name: "c", template: "some", arguments: last, depends: "b || b.Failed", ...loop },
            { name: "d", template: "pair", depends: "c" },
          ],
        },
      },
      {
        name: "pair",
        steps: [
          [{ name: "serve", template: "serve" }],
          [{ name: "x", template: "some", arguments: last, ...loop, continueOn: { failed: true } }],
          [{ name: "y", template: "some", arguments: last, ...loop }],
        ],
      },
      {
        name: "some",
        inputs: { parameters: [{ name: "item" }] },
        retryStrategy: { limit: 1 },
        container: { image: "i", command: ["c"] },
      },
      { name: "serve", daemon: true, container: { image: "i", command: ["c"] } },
      { name: "exit", container: { image: "i", command: ["c"] } },
    ],
  },
};

const START = Date.UTC(2024, 0, 1);

function envOf(mayGoOn: () => boolean): EngineEnv {
  return {
    now: START,
    randomSuffix: (length) => "x".repeat(length),
    findManifest: () => null,
    ...STANDARD_NAMING,
    mayGoOn,
  };
}

/** A workflow with its stored parts and the tasks that it has started. */
class Story {
  state: WorkflowState;
  parts: Record<string, string> = {};
  effects: Effect[] = [];
  mayGoOn = () => true;
  readonly env = envOf(() => this.mayGoOn());

  constructor(state: WorkflowState) {
    this.state = state;
  }

  /** A turn and its commit. */
  turn(): void {
    advance(this.state, this.env);
    this.commit();
  }

  commit(): void {
    const { put, drop, effects } = takeChanges(this.state);
    for (const key of drop) delete this.parts[key];
    Object.assign(this.parts, partsByKey(put));
    this.effects.push(...effects);
  }

  /** The process dies, and another one loads the stored parts. */
  load(): void {
    if (this.state.retrying !== undefined) this.state = loadWorkflow(this.parts);
  }

  ask(request: ControlRequest): void {
    control(this.state, request, this.env);
  }

  /** Runs until nothing more can be done. Returns the number of turns that the retry took. */
  rest(afterEachTurn: (turn: number) => void = () => {}): number {
    for (let turns = 0;; turns++) {
      if (this.state.retrying === undefined) this.mayGoOn = () => true;
      this.turn();
      if (this.state.header.isCut !== true) return turns;
      afterEachTurn(turns + 1);
    }
  }

  /** Ends tasks until there are none. Every second one fails, and so do all of the last loop. */
  runTasks(fails = true): void {
    for (let tasks = this.#ordered(); tasks.length > 0; tasks = this.#ordered()) {
      for (const task of tasks) {
        const { order = 0, step } = this.state.nodes.get(task.split("/")[1] ?? "") ?? {};
        const isLast = step === "c" || order % 4 < 2;
        const hasFailed = fails && step !== "serve" && isLast;
        const outcome = { phase: hasFailed ? "Failed" : "Succeeded" } as const;
        accept(this.state, { type: "task-ended", task, outcome }, this.env);
      }
      this.rest();
    }
  }

  #ordered() {
    return this.effects.splice(0).filter((effect) => effect.type === "start-task")
      .map(({ task }) => task.id);
  }
}

function ended(): Record<string, string> {
  const story = new Story(createWorkflow(WORKFLOW, envOf(() => true)));
  story.rest();
  story.runTasks();
  expect(story.state.header.phase).toBe("Failed");
  return story.parts;
}

const parts = ended();
/** A story that begins with the end of the workflow. A turn of the retry may look at the clock so often. */
function retold(questions = Infinity): Story {
  const story = new Story(loadWorkflow(parts));
  let left = questions;
  story.mayGoOn = () => --left > 0;
  const turn = story.turn.bind(story);
  story.turn = () => {
    left = questions;
    turn();
  };
  story.parts = { ...parts };
  return story;
}

const RETRIES: Record<string, Extract<ControlRequest, { type: "retry" }>> = {
  "of what failed": { type: "retry" },
  "of a part of what succeeded": {
    type: "retry",
    restartSuccessful: true,
    nodeFieldSelector: "templateName=some,phase=Succeeded",
  },
};

/** Everything that is stored, without the note that a turn was cut short. */
function storedOf({ parts }: Story): Record<string, unknown> {
  return Object.fromEntries(
    Object.entries(parts).sort().map(([key, text]) => [key, JSON.parse(text)]),
  );
}

describe.each(Object.entries(RETRIES))("a retry %s", (_title, request) => {
  function wholeStory(): Story {
    const story = retold();
    story.ask(request);
    story.rest();
    return story;
  }

  test("takes several turns, each of which changes a bounded number of nodes", () => {
    const story = retold(5);
    story.ask(request);
    story.turn();
    const counts = [Object.keys(story.parts).length];
    expect(story.parts["r"]).toBeDefined();
    const turns = story.rest(() => counts.push(Object.keys(story.parts).length));
    expect(turns).toBeGreaterThan(10);
    const fewer = counts.map((count, at) => (counts[at - 1] ?? count) - count);
    expect(Math.max(...fewer)).toBeGreaterThan(10);
    expect(Math.max(...fewer)).toBeLessThan(30);
    expect(story.parts["r"]).toBeUndefined();
  });

  test("has the same tree wherever its turns end, and whenever the process dies", () => {
    const wanted = storedOf(wholeStory());
    for (const questions of [5, 40]) {
      const inMemory = retold(questions);
      inMemory.ask(request);
      inMemory.rest();
      expect(storedOf(inMemory), `cut after ${questions} questions`).toEqual(wanted);
      const forgetful = retold(questions);
      forgetful.ask(request);
      forgetful.rest(() => forgetful.load());
      expect(storedOf(forgetful), `loaded after ${questions} questions`).toEqual(wanted);
    }
  });

  test("has the same tree when the process dies once, after any of its turns", () => {
    const wanted = storedOf(wholeStory());
    const turns = retold(16);
    turns.ask(request);
    const count = turns.rest();
    for (let dies = 1; dies < count; dies++) {
      const story = retold(16);
      story.ask(request);
      story.rest((turn) => {
        if (turn === dies) story.load();
      });
      expect(storedOf(story), `died after turn ${dies}`).toEqual(wanted);
    }
  });

  test("comes to the same end as in one turn", () => {
    const whole = wholeStory();
    const cut = retold(7);
    cut.ask(request);
    cut.rest(() => cut.load());
    for (const story of [whole, cut]) story.runTasks(false);
    expect(cut.state.header.phase).toBe("Succeeded");
    expect(viewWorkflow(cut.state)).toEqual(viewWorkflow(whole.state));
  });
});

describe("between the turns of a retry", () => {
  /** A story after some turns, which have removed some of the nodes. */
  function begun(gone = 0): Story {
    const story = retold(5);
    story.ask({ type: "retry" });
    do story.turn(); while (Object.keys(story.parts).length > Object.keys(parts).length + 1 - gone);
    expect(story.parts["r"]).toBeDefined();
    expect(story.state.header.isCut).toBe(true);
    return story;
  }

  test("the workflow shows that it begins again, with some of its nodes", () => {
    const { state, parts: stored } = begun(50);
    const view = viewWorkflow(state);
    expect(view.status).toMatchObject({ phase: "", finishedAt: null });
    expect(view.metadata.labels?.["workflows.argoproj.io/completed"]).toBeUndefined();
    const nodes = Object.values(view.status?.nodes ?? {});
    expect(nodes.length).toBeLessThan(Object.keys(parts).length - 50);
    // The nodes that are left have their places in the tree.
    const children = new Set(nodes.flatMap(({ children = [] }) => children));
    const lost = nodes.filter(({ id, name }) =>
      id !== "wf" && name !== "wf.onExit" && !children.has(id)
    );
    expect(lost).toEqual([]);
    expect(viewWorkflow(loadWorkflow(stored))).toEqual(view);
  });

  test("it cannot be retried again, and no node can be resumed or set", () => {
    const story = begun();
    const refusals: ControlRequest[] = [
      { type: "retry" },
      { type: "set", nodeFieldSelector: "templateName=some", phase: "Failed" },
      { type: "resume", nodeFieldSelector: "templateName=some" },
    ];
    for (const request of refusals) {
      expect(() => story.ask(request), request.type).toThrow(Problem);
    }
  });

  test.each([["stop", "Stop"], ["terminate", "Terminate"]] as const)(
    "a %s takes effect when it is over",
    (type, strategy) => {
      const story = begun();
      story.ask({ type });
      story.rest();
      story.runTasks();
      expect(story.state.header.phase).toBe("Failed");
      expect(story.state.header.message).toBe(`Stopped with strategy '${strategy}'`);
      expect(story.parts["r"]).toBeUndefined();
      const all = retold();
      all.ask({ type: "retry" });
      all.ask({ type });
      all.rest();
      all.runTasks();
      expect(viewWorkflow(story.state)).toEqual(viewWorkflow(all.state));
    },
  );

  test("a suspension lets the retry end, but nothing begins", () => {
    const story = begun();
    story.ask({ type: "suspend" });
    const { sequence } = story.state.header;
    story.rest();
    expect(story.parts["r"]).toBeUndefined();
    expect(story.state.header.sequence).toBe(sequence);
    story.ask({ type: "resume" });
    story.rest();
    expect(story.state.header.sequence).toBeGreaterThan(sequence);
  });
});
