import { expect, test } from "vitest";
import { freezeAll } from "../../base/shared_json.ts";
import type { WorkflowTemplate } from "../../spec/manifest.ts";
import { advance } from "../advance.ts";
import { takeChanges } from "../codec.ts";
import { createWorkflow } from "../create.ts";
import type { EngineEnv } from "../engine.ts";

test.each([false, true])(
  "pods have the podMetadata of the object their template is from: %s",
  (shared) => {
    const manifest: WorkflowTemplate = {
      metadata: { name: "st" },
      spec: {
        podMetadata: {
          labels: { team: "a", own: "weak", name: "{{inputs.parameters.p}}" },
          annotations: { note: "n" },
        },
        templates: [
          {
            name: "outer",
            steps: [[{
              name: "i",
              template: "work",
              arguments: { parameters: [{ name: "p", value: "v" }] },
            }]],
          },
          {
            name: "work",
            inputs: { parameters: [{ name: "p" }] },
            metadata: { labels: { own: "strong" } },
            container: { image: "i" },
          },
        ],
      },
    };
    if (shared) freezeAll(manifest);
    const env: EngineEnv = {
      now: 0,
      randomSuffix: (length) => "x".repeat(length),
      findManifest: (kind) => kind === "WorkflowTemplate" ? manifest : null,
      labelPrefix: "workflows.argoproj.io/",
      apiGroup: "argoproj.io",
    };
    const state = createWorkflow({
      metadata: { name: "wf", namespace: "n", uid: "u", creationTimestamp: "2026-01-01T00:00:00Z" },
      spec: {
        entrypoint: "main",
        podMetadata: { labels: { all: "w" } },
        templates: [
          {
            name: "main",
            steps: [[{ name: "a", templateRef: { name: "st", template: "outer" } }, {
              name: "b",
              template: "plain",
            }]],
          },
          { name: "plain", container: { image: "i" } },
        ],
      },
    }, env);
    advance(state, env);
    const tasks = takeChanges(state).effects.flatMap((effect) =>
      effect.type === "start-task" ? [effect.task] : []
    );
    expect(tasks.map(({ template }) => template.metadata)).toEqual([
      { labels: { team: "a", own: "strong", name: "v" }, annotations: { note: "n" } },
      undefined,
    ]);
    expect(state.specs.storedTemplates?.["namespaced/st/work"]?.metadata?.labels?.["name"]).toBe(
      "{{inputs.parameters.p}}",
    );
    expect(manifest.spec.templates?.[1]?.metadata).toEqual({ labels: { own: "strong" } });
  },
);
