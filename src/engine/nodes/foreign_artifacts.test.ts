import { expect, test } from "vitest";
import type { Outputs, Template, WorkflowSpec } from "../../spec/manifest.ts";
import { accept } from "../accept.ts";
import { advance } from "../advance.ts";
import { takeChanges } from "../codec.ts";
import { createWorkflow } from "../create.ts";
import { deletionEffects } from "../cleanup/deletion.ts";
import type { TaskSpec } from "../effect.ts";
import type { EngineEnv } from "../engine.ts";
import type { WorkflowState } from "../state.ts";

const container = { image: "x", command: ["true"] };
const leave = (name: string): Template => ({
  name,
  container,
  outputs: { artifacts: [{ name: "o", path: "/o" }] },
});

interface Story {
  state: WorkflowState;
  /** Tasks that were started since the last call. */
  started(): TaskSpec[];
  end(task: TaskSpec | undefined, outputs: Outputs): void;
}

function begin(
  spec: WorkflowSpec,
  { artifactKeys = "namespace", memo }: {
    artifactKeys?: "namespace" | "shared";
    memo?: object;
  } = {},
): Story {
  const env: EngineEnv = {
    now: 0,
    randomSuffix: (length) => "a".repeat(length),
    findManifest: (kind) =>
      kind === "ConfigMap" && memo !== undefined
        ? {
          metadata: { labels: { "workflows.argoproj.io/configmap-type": "Cache" } },
          data: { key: JSON.stringify(memo) },
        }
        : null,
    labelPrefix: "workflows.argoproj.io/",
    apiGroup: "argoproj.io",
    artifactKeys,
  };
  const state = createWorkflow({ metadata: { name: "x", namespace: "b", uid: "u" }, spec }, env);
  advance(state, env);
  return {
    state,
    started: () =>
      takeChanges(state).effects.flatMap((effect) =>
        effect.type === "start-task" ? [effect.task] : []
      ),
    end(task, outputs) {
      if (task === undefined) throw new TypeError("no task");
      const outcome = { phase: "Succeeded" as const, outputs };
      accept(state, { type: "task-ended", task: task.id, outcome }, env);
      advance(state, env);
    },
  };
}

const one = { entrypoint: "w", templates: [leave("w")] };
const outputs = (artifact: object) => ({ artifacts: [{ name: "o", ...artifact }] });

test.each([
  ["its own key", { s3: { key: "b/x/x/o" } }, {}, "Succeeded"],
  ["a full location", { s3: { key: "a/o", endpoint: "e", bucket: "c" } }, {}, "Succeeded"],
  ["another's key", { s3: { key: "a/x/x/o" } }, {}, "Error"],
  ["a key from before", { s3: { key: "x/x/o" } }, {}, "Error"],
  ["a key that leaves its place", { s3: { key: "b/../a/o" } }, {}, "Error"],
  ["another kind of key", { azure: { blob: "a/o" } }, {}, "Error"],
  [
    "another's key, shared",
    { s3: { key: "a/o" } },
    { artifactKeys: "shared" as const },
    "Succeeded",
  ],
])("a step that reports %s", (_title, artifact, options, phase) => {
  const story = begin(one, options);
  story.end(story.started()[0], { ...outputs(artifact), exitCode: "0" });
  const [node] = story.state.nodes.values();
  expect([node?.phase, node?.message ?? ""]).toEqual([
    phase,
    phase === "Error" ? expect.stringMatching(/^Output artifact "o": key /) : "",
  ]);
  expect(node?.outputs?.artifacts === undefined).toBe(phase === "Error");
  expect(node?.outputs?.exitCode).toBe("0");
});

test("a repository of the workflow's own may have keys of any form", () => {
  const story = begin({ ...one, artifactRepositoryRef: { configMap: "mine" } });
  story.end(story.started()[0], outputs({ s3: { key: "runs/o" } }));
  expect([...story.state.nodes.values()][0]?.phase).toBe("Succeeded");
});

test.each([
  ["of today is a hit", "b/y/y/o", {}, true],
  ["from before is made anew", "y/y/o", {}, false],
  [
    "from before is a hit where keys are shared",
    "y/y/o",
    { artifactKeys: "shared" as const },
    true,
  ],
])("a remembered artifact %s", (_title, key, options, isHit) => {
  const memoize = { key: "key", maxAge: "", cache: { configMap: { name: "c" } } };
  const spec = { entrypoint: "w", templates: [{ ...leave("w"), memoize }] } as WorkflowSpec;
  const memo = { outputs: outputs({ s3: { key } }) };
  const story = begin(spec, { ...options, memo });
  expect([...story.state.nodes.values()][0]?.memoizationStatus?.hit).toBe(isHit);
});

test("an artifact from before keys had owners is passed on, and removed", () => {
  const read: Template = {
    name: "r",
    container,
    inputs: { artifacts: [{ name: "i", path: "/i" }] },
  };
  const steps = [
    [{ name: "a", template: "w" }],
    [{
      name: "b",
      template: "r",
      arguments: { artifacts: [{ name: "i", from: "{{steps.a.outputs.artifacts.o}}" }] },
    }],
  ];
  const spec: WorkflowSpec = {
    entrypoint: "m",
    artifactGC: { strategy: "OnWorkflowDeletion" },
    templates: [{ name: "m", steps }, leave("w"), read],
  };
  // An older version, which did not check keys, did this.
  const story = begin(spec, { artifactKeys: "shared" });
  const [first] = story.started();
  const key = `x/${first?.podName}/o.tgz`;
  story.end(first, outputs({ s3: { key } }));
  const [second] = story.started();
  expect(second?.template.inputs?.artifacts?.[0]?.s3).toEqual({ key });
  expect(second?.formerKeys).toEqual([key]);
  expect(deletionEffects(story.state)).toContainEqual(
    expect.objectContaining({ type: "collect-artifacts", formerKeys: [key] }),
  );
});

test("a key does not belong to a workflow because an argument names it", () => {
  const spec: WorkflowSpec = {
    entrypoint: "r",
    arguments: { artifacts: [{ name: "i", s3: { key: "x/x/o" } }] },
    templates: [{ name: "r", container, inputs: { artifacts: [{ name: "i", path: "/i" }] } }],
  };
  const [task] = begin(spec).started();
  expect(task?.template.inputs?.artifacts?.[0]?.s3).toEqual({ key: "x/x/o" });
  expect(task?.formerKeys).toBeUndefined();
});
