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
