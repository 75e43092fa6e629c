/** A server with another group and another prefix of labels: what the command line prints and imports has its names. */
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { type ServerProcess, startServer } from "../support/server_process.ts";
import { runSluice } from "../support/sluice_cli.ts";

const INSTALLATION = `
apiVersion: v1
kind: ConfigMap
metadata:
  name: words
  namespace: default
  labels: { workflows.argoproj.io/configmap-type: Parameter }
data: { word: hello }
---
apiVersion: argoproj.io/v1alpha1
kind: WorkflowTemplate
metadata: { name: says, namespace: default }
spec:
  entrypoint: main
  arguments:
    parameters: [{ name: word, valueFrom: { configMapKeyRef: { name: words, key: word } } }]
  templates: [{ name: main, suspend: { duration: "0" } }]
---
apiVersion: argoproj.io/v1alpha1
kind: Workflow
metadata:
  name: past
  namespace: default
  uid: 5f0f9d5c-0a51-4a5e-8a0e-3a6a4f7f1f10
  labels: { workflows.argoproj.io/completed: "true", workflows.argoproj.io/phase: Succeeded }
  creationTimestamp: "2026-11-30T01:00:00Z"
spec: { entrypoint: main, templates: [{ name: main, suspend: {} }] }
status: { phase: Succeeded, startedAt: "2026-11-30T01:00:00Z", finishedAt: "2026-11-30T01:00:05Z" }
`;

let folder: string;
let server: ServerProcess;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "sluice-names-"));
  server = await startServer([
    "--archive-store=store",
    `--store=sqlite:${join(folder, "store")}`,
    "--executor=none",
    "--api-group=flows.example.org",
    "--label-prefix=flows.example.org/",
  ]);
});

afterAll(async () => {
  await server?.stop();
  await rm(folder, { recursive: true, force: true });
});

async function sluice(...args: string[]): Promise<string> {
  const { out, err, status } = await runSluice(args, { env: { SLUICE_SERVER: server.url } });
  expect([args, status, err]).toEqual([args, 0, expect.any(String)]);
  return out;
}

test("an imported installation has the prefix of the server, and works", async () => {
  const file = join(folder, "argo.yaml");
  await writeFile(file, INSTALLATION);
  const args = ["migrate", "argo", "-f", file, "--with-workflows", "--apply"];
  expect(await sluice(...args)).toMatch(/^Workflow +1 +1 +0 +0 +0 +1 /m);
  expect(await sluice(...args)).toMatch(/^Workflow +1 +1 +0 +0 +0 +0 +1 /m);
  expect(await sluice("list", "--completed", "-o", "name")).toBe("past\n");
  expect(await sluice("list", "--running", "-o", "name")).toBe("");
  // Its parameter is in the ConfigMap, which has to be of the right type.
  await sluice("submit", "--from", "workflowtemplate/says", "--name", "now", "--wait");
});

test("manifests are printed with the group of the server", async () => {
  const version = "flows.example.org/v1alpha1";
  for (const args of [["template", "get", "says"], ["get", "past"], ["archive", "get", "past"]]) {
    expect(await sluice(...args, "-o", "yaml")).toContain(`apiVersion: ${version}\n`);
  }
  for (const args of [["template", "list"], ["list"]]) {
    expect(JSON.parse(await sluice(...args, "-o", "json"))[0]).toHaveProperty(
      "apiVersion",
      version,
    );
  }
});
