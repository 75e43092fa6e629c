import { expect, test } from "vitest";
import { createClient } from "../client/client.ts";
import { leftOut, listAll, meantKind, ownGroups, RESOURCES } from "./resources.ts";

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

test("a list of several pages is read to its end", async () => {
  const asked: (string | null)[] = [];
  const client = createClient({
    server: "http://h",
    fetch: ({ url }) => {
      const { searchParams } = new URL(url);
      asked.push(searchParams.get("listOptions.labelSelector"));
      const at = Number(searchParams.get("listOptions.continue") ?? "0");
      const metadata = at < 2 ? { continue: String(at + 1) } : {};
      return Promise.resolve(
        Response.json({ metadata, items: [{ metadata: { name: `t${at}` } }] }),
      );
    },
  });
  const items = await listAll({ client }, RESOURCES.template, "default", "a=b");
  expect(items).toEqual(["t0", "t1", "t2"].map((name) => ({ metadata: { name } })));
  expect(asked).toEqual(["a=b", "a=b", "a=b"]);
});

test("settings of other programs are left out, but no manifest that lacks its kind", () => {
  const groups = ownGroups([]);
  expect(leftOut({ replicas: 1 }, groups)).toContain("is left out");
  expect(leftOut({ spec: { entrypoint: "a" } }, groups)).toBeUndefined();
  expect(leftOut({ metadata: { name: "a" }, spce: {} }, groups)).toBeUndefined();
});
