import { afterAll, expect, test } from "vitest";
import type { Template, Workflow, WorkflowTemplate } from "../../spec/manifest.ts";
import { checkManifest, checkSmall, createCheckThread, isLarge } from "./check.ts";

const thread = createCheckThread();
afterAll(() => thread.close());

const wait: Template = { name: "wait", suspend: {} };
const workflow = (...templates: Template[]): Workflow => ({
  metadata: { generateName: "x-" },
  spec: { entrypoint: "main", templates },
});
const dag = (count: number, depends = ""): Template => ({
  name: "main",
  dag: {
    tasks: Array.from({ length: count }, (_, index) => ({
      name: `t${index}`,
      template: "wait",
      ...(depends === "" ? {} : { depends }),
    })),
  },
});
const LARGE = 5_000;

const verdict = (manifest: Workflow, on: typeof thread | undefined, lint = false) =>
  checkManifest({ kind: "Workflow", manifest, templates: new Map(), options: { lint } }, on).then(
    () => "valid",
    ({ name, message, code, status }) => ({
      isProblem: name === "Problem" || name === "SpecError",
      message,
      code,
      status,
    }),
  );

test.each([
  ["valid", workflow(dag(LARGE), wait)],
  ["with a cycle", workflow(dag(LARGE, "t0"), wait)],
  ["with a template that isn't there", workflow(dag(LARGE))],
  ["with a value that is missing", {
    ...workflow(dag(LARGE), wait),
    spec: { ...workflow(dag(LARGE), wait).spec, arguments: { parameters: [{ name: "p" }] } },
  }],
])("a large manifest %s gets the same verdict on the thread", async (_, manifest) => {
  expect(isLarge(manifest.spec)).toBe(true);
  for (const lint of [false, true]) {
    expect(await verdict(manifest, thread, lint)).toEqual(await verdict(manifest, undefined, lint));
  }
});

test("the stored templates that it reaches are passed on, even those that are missing", async () => {
  const stored: WorkflowTemplate = {
    metadata: { name: "s" },
    spec: { templates: [dag(LARGE), wait] },
  };
  const check = (name: string) =>
    checkManifest({
      kind: "Workflow",
      manifest: {
        metadata: { generateName: "x-", namespace: "n" },
        spec: { entrypoint: "main", workflowTemplateRef: { name } },
      },
      templates: new Map([["WorkflowTemplate/n/s", stored], [
        "WorkflowTemplate/n/none",
        undefined,
      ]]),
      options: {},
    }, thread);
  await check("s");
  await expect(check("none")).rejects.toMatchObject({ status: 404 });
});

test.each([
  ["a small one", { templates: [wait] }, false],
  ["many members", { templates: [dag(LARGE)] }, true],
  ["long texts", { templates: [wait], x: "x".repeat(200_000) }, true],
])("%s", (_, spec, expected) => {
  expect(isLarge(spec)).toBe(expected);
  // The weight of a frozen value is computed once.
  expect(isLarge(Object.freeze(spec))).toBe(expected);
  expect(isLarge({ templates: [wait] }, [spec])).toBe(expected);
});

test("a small manifest that tags make large is checked on the thread", async () => {
  const container = { image: "x", args: ["{{workflow.parameters.p}}".repeat(100)] };
  const manifest = workflow({ name: "main", container });
  manifest.spec.arguments = { parameters: [{ name: "p", value: "x".repeat(50_000) }] };
  expect(isLarge(manifest.spec)).toBe(false);
  expect(checkSmall({ kind: "Workflow", manifest, templates: new Map(), options: {} })).toBe(false);
  expect(await verdict(manifest, thread)).toBe("valid");
});

test("so is one with very many annotations", async () => {
  const manifest = workflow(wait);
  manifest.spec.entrypoint = "wait";
  const entries = Array.from({ length: 20_000 }, (_, index) => [`a${index}`, "v"]);
  manifest.metadata.annotations = Object.fromEntries(entries);
  expect(checkSmall({ kind: "Workflow", manifest, templates: new Map(), options: {} })).toBe(false);
  expect(await verdict(manifest, thread)).toBe("valid");
});

test("a stored template that only an argument names is needed, whatever else is wrong", async () => {
  const step = { name: "s", templateRef: { name: "{{workflow.parameters.t}}", template: "x" } };
  const check = (main: Template, on: typeof thread | undefined) =>
    checkManifest({
      kind: "Workflow",
      manifest: {
        metadata: { namespace: "n" },
        spec: {
          entrypoint: "main",
          arguments: { parameters: [{ name: "t", value: "stored" }] },
          templates: [main, { ...dag(LARGE), name: "large" }, wait],
        },
      },
      templates: new Map([["WorkflowTemplate/n/{{workflow.parameters.t}}", undefined]]),
      options: {},
    }, on);
  const main = { name: "main", steps: [[step, { ...step, name: "t" }, { name: "s" }]] };
  for (const on of [thread, undefined]) {
    await expect(check(main, on)).rejects.toMatchObject({
      name: "TemplatesNeeded",
      places: [["WorkflowTemplate", "n", "stored"]],
    });
  }
});
