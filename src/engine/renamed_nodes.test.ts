/** Names with the same hash: each node has an id and a pod of its own, and none is taken for the other. */
import { runToEnd } from "../base/steps.ts";
import { expect, test } from "vitest";
import { ENGINE_ENV } from "../../test/support/engine_env.ts";
import type { Template, Workflow } from "../spec/manifest.ts";
import { accept } from "./accept.ts";
import { advance } from "./advance.ts";
import { loadWorkflow, takeChanges } from "./codec.ts";
import { createWorkflow } from "./create.ts";
import type { TaskSpec } from "./effect.ts";
import { control } from "./orders/control.ts";
import { resultSteps } from "./orders/resubmit.ts";
import { partsByKey } from "../base/part_text.ts";
import { nodeId } from "./scope/names.ts";
import { viewWorkflow } from "./view.ts";

const WORK: Template = {
  name: "work",
  inputs: { parameters: [{ name: "item" }] },
  container: { image: "i", args: ["{{inputs.parameters.item}}"] },
};
const given = (value: string) => ({ parameters: [{ name: "item", value }] });
const SAME = [
  ["a loop", ["wf[0].each(0:51vp)", "wf[0].each(1:9e0a)"], {
    name: "main",
    steps: [[{
      name: "each",
      template: "work",
      withItems: ["51vp", "9e0a"],
      arguments: given("{{item}}"),
    }]],
  }],
  ["a DAG", ["wf.t19d9a", "wf.tlkzu"], {
    name: "main",
    dag: {
      tasks: [
        { name: "tlkzu", template: "work", arguments: given("one") },
        { name: "t19d9a", template: "work", arguments: given("two") },
      ],
    },
  }],
] as const satisfies [string, string[], Template][];

function start(workflow: Workflow) {
  let state = createWorkflow(workflow, ENGINE_ENV);
  const parts: Record<string, string> = {};
  const tasks: TaskSpec[] = [];
  const go = () => {
    advance(state, ENGINE_ENV);
    const { put, drop, effects } = takeChanges(state);
    for (const key of drop) delete parts[key];
    Object.assign(parts, partsByKey(put));
    for (const effect of effects) if (effect.type === "start-task") tasks.push(effect.task);
  };
  go();
  return {
    tasks,
    view: () => viewWorkflow(state),
    end(task: TaskSpec | undefined, phase: "Succeeded" | "Failed") {
      accept(state, { type: "task-ended", task: task?.id ?? "", outcome: { phase } }, ENGINE_ENV);
      go();
    },
    reload() {
      state = loadWorkflow(parts);
      go();
    },
    retry() {
      control(state, { type: "retry" }, ENGINE_ENV);
      for (let turn = 0; turn < 5; turn++) go();
    },
  };
}

test.each(SAME)("%s: both run, also after a restart, a retry and in a copy", (_, names, main) => {
  const [first = "", second = ""] = names;
  expect(nodeId("wf", first)).toBe(nodeId("wf", second));
  const workflow = (name: string): Workflow => ({
    metadata: { name, namespace: "ns", uid: `uid of ${name}` },
    spec: { entrypoint: "main", templates: [main, WORK] },
  });
  const story = start(workflow("wf"));
  story.reload();
  const phases = (of = story) =>
    Object.fromEntries(
      Object.values(of.view().status?.nodes ?? {}).filter(({ type }) => type === "Pod")
        .map(({ name, phase }) => [name, phase]),
    );
  expect(story.tasks.map(({ nodeName }) => nodeName)).toEqual([first, second]);
  expect(new Set(story.tasks.map(({ nodeId }) => nodeId)).size).toBe(2);
  expect(new Set(story.tasks.map(({ podName }) => podName)).size).toBe(2);
  story.end(story.tasks[0], "Failed");
  story.reload();
  story.end(story.tasks[1], "Succeeded");
  expect(phases()).toEqual({ [first]: "Failed", [second]: "Succeeded" });
  // The one that has the usual id is dropped and begins again; the other one is still found by its name.
  story.retry();
  story.reload();
  expect(story.tasks.map(({ nodeName }) => nodeName)).toEqual([first, second, first]);
  story.end(story.tasks[2], "Succeeded");
  expect(phases()).toEqual({ [first]: "Succeeded", [second]: "Succeeded" });
  expect(story.view().status?.phase).toBe("Succeeded");
});

test("a copy with results keeps both", () => {
  const [[, [, second], main]] = SAME;
  const story = start({
    metadata: { name: "wf", namespace: "ns", uid: "u" },
    spec: { entrypoint: "main", templates: [main, WORK] },
  });
  story.end(story.tasks[0], "Succeeded");
  story.end(story.tasks[1], "Failed");
  const from = story.view();
  const metadata = { ...from.metadata, name: "wf", uid: "v" };
  const copied = runToEnd(resultSteps({ metadata, spec: from.spec }, from, "wf", ENGINE_ENV));
  expect(Object.keys(copied.status?.nodes ?? {})).toHaveLength(4);
  const copy = start(copied);
  expect(copy.tasks.map(({ nodeName }) => nodeName)).toEqual([second]);
});
