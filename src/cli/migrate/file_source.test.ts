import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { expect, test } from "vitest";
import { openFiles } from "./file_source.ts";

test("a file that is not there is named, in a sentence", async () => {
  const selection = { apiGroup: "argoproj.io", controllerConfig: "none" };
  const listener = { trouble() {}, unseen() {} };
  await expect(openFiles(["/nowhere/argo.yaml"], selection, listener)).rejects.toThrow(
    /^Cannot read \/nowhere\/argo\.yaml: there is no such file$/,
  );
});

test("what kubectl prints of a large installation is read", async () => {
  const file = join(mkdtempSync(join(tmpdir(), "sluice-file-source-")), "argo.json");
  const items = Array.from({ length: 12 }, (_, at) => ({
    kind: "WorkflowTemplate",
    metadata: { name: `t${at}`, namespace: "a", annotations: { text: "x".repeat(2 ** 20) } },
  }));
  writeFileSync(file, JSON.stringify({ kind: "List", items }));
  const troubles: unknown[] = [];
  const listener = { trouble: (...told: unknown[]) => void troubles.push(told), unseen() {} };
  const source = await openFiles(
    [file],
    { apiGroup: "argoproj.io", controllerConfig: "none" },
    listener,
  );
  let count = 0;
  for await (const page of source.manifests()) count += page.length;
  rmSync(dirname(file), { recursive: true });
  expect({ count, troubles }).toEqual({ count: 12, troubles: [] });
});

test.each([
  [undefined, ["default/plain", "a/placed"]],
  ["a", ["a/plain", "a/placed"]],
  ["b", ["b/plain"]],
])("what names no namespace belongs to the one that is asked for: %j", async (namespace, found) => {
  const file = join(mkdtempSync(join(tmpdir(), "sluice-file-source-")), "argo.json");
  const items = [{ name: "plain" }, { name: "placed", namespace: "a" }]
    .map((metadata) => ({ kind: "WorkflowTemplate", metadata }));
  writeFileSync(file, JSON.stringify({ kind: "List", items }));
  const selection = {
    apiGroup: "argoproj.io",
    controllerConfig: "none",
    ...(namespace !== undefined && { namespace }),
  };
  const source = await openFiles([file], selection, { trouble() {}, unseen() {} });
  const places: string[] = [];
  for await (const page of source.manifests()) {
    for (const { metadata } of page as { metadata: Record<string, string> }[]) {
      places.push(`${metadata["namespace"]}/${metadata["name"]}`);
    }
  }
  rmSync(dirname(file), { recursive: true });
  expect(places).toEqual(found);
});

test.each([
  [undefined, [["Workflow", "2, --with-workflows imports finished ones"]]],
  [true, []],
])("workflows that are passed over are told: --with-workflows %j", async (withWorkflows, told) => {
  const file = join(mkdtempSync(join(tmpdir(), "sluice-file-source-")), "argo.json");
  const items = ["a", "b"].map((name) => ({ kind: "Workflow", metadata: { name } }));
  writeFileSync(file, JSON.stringify({ kind: "List", items }));
  const unseen: unknown[] = [];
  const listener = { trouble() {}, unseen: (...one: unknown[]) => void unseen.push(one) };
  const selection = {
    apiGroup: "argoproj.io",
    controllerConfig: "none",
    ...(withWorkflows !== undefined && { withWorkflows }),
  };
  const source = await openFiles([file], selection, listener);
  let count = 0;
  for await (const page of source.manifests()) count += page.length;
  rmSync(dirname(file), { recursive: true });
  expect({ count, unseen }).toEqual({ count: 0, unseen: told });
});
