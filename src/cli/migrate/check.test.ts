import { expect, test } from "vitest";
import type { JsonObject } from "../../base/json.ts";
import { assess } from "./check.ts";

const template = (name: string, spec: JsonObject): JsonObject => ({
  kind: "WorkflowTemplate",
  metadata: { name, namespace: "a" },
  spec,
});
const work = { name: "work", container: { image: "busybox", command: ["true"] } };
const plain = { entrypoint: "work", templates: [work] };

test("a manifest works, works in part, or is refused with the place", () => {
  const [works, partly, refused] = assess([
    template("works", plain),
    template("partly", { ...plain, nope: 1, podDisruptionBudget: { minAvailable: 1 } }),
    template("refused", { ...plain, templates: [{ ...work, container: { image: 7 } }] }),
  ], "kubernetes");
  expect(works).toEqual({ verdict: "works", notes: [] });
  expect(partly).toEqual({
    verdict: "partly",
    notes: [
      { path: "spec.nope", text: "is not known, and ignored" },
      { path: "spec.podDisruptionBudget", text: "Create one for the namespace instead" },
    ],
  });
  expect(refused).toMatchObject({ verdict: "refused", reason: expect.stringContaining("image") });
});

test("members that a cluster fills in are no wishes", () => {
  const filled = { name: "work", metadata: {}, container: { ...work.container, resources: {} } };
  const paths = (container: JsonObject) =>
    assess([template("t", { ...plain, templates: [{ ...filled, container }] })], "process")
      .flatMap(({ notes }) => notes.map(({ path }) => path));
  const image = "spec.templates[0].container.image";
  expect(paths(filled.container)).toEqual([image]);
  expect(paths({ ...filled.container, resources: { limits: { cpu: "1" } } }))
    .toEqual([image, "spec.templates[0].container.resources"]);
});

test("support is that of the executor", () => {
  const objects = [template("t", { ...plain, nodeSelector: { disk: "ssd" } })];
  expect(assess(objects, "kubernetes")[0]?.verdict).toBe("works");
  expect(assess(objects, "container")[0]?.notes.map(({ path }) => path))
    .toEqual(["spec.nodeSelector"]);
});

test("templates are looked for among the others, and notes are bounded", () => {
  const calls = {
    entrypoint: "main",
    templates: [{
      name: "main",
      steps: [[{ name: "s", templateRef: { name: "later", template: "work" } }]],
    }],
  };
  const [found, missing] = assess([template("calls", calls), template("later", plain)], "process");
  expect(found?.verdict).toBe("works");
  expect(missing?.verdict).not.toBe("refused");
  expect(assess([template("calls", calls)], "process")[0]).toMatchObject({ verdict: "refused" });
  const many = Object.fromEntries(Array.from({ length: 30 }, (_, i) => [`x${i}`, 1]));
  const [full] = assess([template("many", { ...plain, ...many })], "kubernetes");
  expect(full?.notes).toHaveLength(21);
  expect(full?.notes.at(-1)?.text).toBe("10 more such members");
});
