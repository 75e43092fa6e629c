import { expect, test } from "vitest";
import type { Template, WorkflowTemplate } from "../../spec/manifest.ts";
import { storedTemplatesOf } from "./stored_templates.ts";

const leaf = (name: string): Template => ({ name, container: { image: "i" } });
const manifest = (...templates: Template[]): WorkflowTemplate => ({
  metadata: {},
  spec: { templates },
});

const stored: Record<string, WorkflowTemplate> = {
  "WorkflowTemplate/ns/shared": manifest(
    {
      name: "main",
      steps: [[
        { name: "a", template: "leaf" },
        { name: "b", inline: { container: { image: "i" } } },
        { name: "c", templateRef: { name: "wide", template: "leaf", clusterScope: true } },
      ]],
    },
    leaf("leaf"),
    leaf("unused"),
  ),
  "ClusterWorkflowTemplate//wide": manifest(leaf("leaf")),
};
const find = (kind: string, namespace: string, name: string) =>
  stored[`${kind}/${namespace}/${name}`];

test("a reference to a whole template stores all of its templates", () => {
  const workflow = { metadata: {}, spec: { workflowTemplateRef: { name: "shared" } } };
  expect(Object.keys(storedTemplatesOf(workflow, "ns", find)).sort()).toEqual([
    "cluster/wide/leaf",
    "namespaced/shared/inline/b",
    "namespaced/shared/leaf",
    "namespaced/shared/main",
    "namespaced/shared/unused",
  ]);
});

test("a step's reference stores what it reaches; the workflow's own templates are not stored", () => {
  const workflow = {
    metadata: {},
    spec: {
      templates: [
        {
          name: "m",
          dag: {
            tasks: [
              { name: "t", templateRef: { name: "wide", template: "leaf", clusterScope: true } },
              { name: "u", template: "own", onExit: "own" },
              { name: "gone", templateRef: { name: "none", template: "x" } },
            ],
          },
        },
        leaf("own"),
      ],
    },
  };
  expect(Object.keys(storedTemplatesOf(workflow, "ns", find))).toEqual(["cluster/wide/leaf"]);
});

test("templates that call each other in a circle are visited once", () => {
  const circle = manifest({ name: "a", steps: [[{ name: "s", template: "a" }]] });
  const workflow = { metadata: {}, spec: { workflowTemplateRef: { name: "c" } } };
  expect(Object.keys(storedTemplatesOf(workflow, "ns", () => circle))).toEqual([
    "namespaced/c/a",
  ]);
});

test("an inline template beside a reference is stored with what it reaches there", () => {
  const inline = { steps: [[{ name: "s", template: "leaf" }]] };
  const templateRef = { name: "shared", template: "main" };
  const workflow = {
    metadata: {},
    spec: { templates: [{ name: "m", steps: [[{ name: "a", inline, templateRef }]] }] },
  };
  expect(Object.keys(storedTemplatesOf(workflow, "ns", find))).toEqual([
    "namespaced/shared/inline/a",
    "namespaced/shared/leaf",
  ]);
});
