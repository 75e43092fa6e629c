import { expect, test } from "vitest";
import { leftOut, meantKind, ownGroups } from "./resources.ts";

const object = (apiVersion: string, kind: string) => ({
  apiVersion,
  kind,
  metadata: { name: "x" },
});

test("a misspelt kind is told in the group of the manifests beside it, whichever that is", () => {
  const misspelt = object("flows.example.org/v1alpha1", "WorkflowTempalte");
  const beside = object("flows.example.org/v1alpha1", "CronWorkflow");
  const other = object("apps/v1", "Deployment");
  const groups = ownGroups([beside, misspelt, other]);
  expect(meantKind(misspelt, groups)).toBe("WorkflowTemplate");
  expect(leftOut(misspelt, groups)).toBeUndefined();
  expect(leftOut(other, groups)).toBe('Deployment "x" is left out: it is for another program');
  // In a group of which nothing else is known, it may be a kind of another program.
  expect(leftOut(misspelt, ownGroups([misspelt]))).toContain("is left out");
  expect(meantKind(object("argoproj.io/v1alpha1", "Worklow"), ownGroups([other]))).toBe("Workflow");
});

test("settings of other programs are left out, but no manifest that lacks its kind", () => {
  const groups = ownGroups([]);
  expect(leftOut({ replicas: 1 }, groups)).toContain("is left out");
  expect(leftOut({ spec: { entrypoint: "a" } }, groups)).toBeUndefined();
  expect(leftOut({ metadata: { name: "a" }, spce: {} }, groups)).toBeUndefined();
});
