/**
 * A deployment with its own names: nothing that a real server or the command line prints contains the reference's label
 * prefix or group, and the command line finds what it looks for.
 */
import { spawn } from "node:child_process";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import process from "node:process";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { createToken } from "../../src/auth/token_file.ts";
import type { JsonObject } from "../../src/base/json.ts";
import { collectionPath, objectPath } from "../../src/kubernetes/cluster_object.ts";
import { defineKinds } from "../support/cluster_kinds.ts";
import { startRedisServer } from "../support/redis_server.ts";
import { type ServerProcess, startServer } from "../support/server_process.ts";

const CLI = fileURLToPath(new URL("../../src/cli/main.ts", import.meta.url));
const RUNTIME = "Deno" in globalThis ? ["run", "-A", "-q"] : [];
const PREFIX = "jobs.example.org/";
const { token: ALICE, entry: alice } = createToken("alice", []);
const { token: BOB, entry: bob } = createToken("bob", []);
const ACCESS = `rules:
- { subjects: [alice], namespaces: ["*"], apiGroups: [example.org, ""], resources: ["*"], verbs: ["*"] }
- { subjects: [bob], namespaces: [default], resources: [workflows], verbs: [list] }
`;
const STANDARD = /argoproj/i;

describe.each(["sqlite", "redis"])("a server with another prefix and group on %s", (kind) => {
  let folder: string;
  let server: ServerProcess;
  let stopRedis: (() => Promise<unknown>) | undefined;
  /** Every answer of the server so far. */
  const said: string[] = [];

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), "sluice-naming-"));
    await writeFile(join(folder, "tokens.yaml"), JSON.stringify({ tokens: [alice, bob] }));
    await writeFile(join(folder, "access.yaml"), ACCESS);
    let store = `sqlite:${join(folder, "store")}`;
    if (kind === "redis") {
      const redis = await startRedisServer();
      [store, stopRedis] = [redis.url, () => redis.stop()];
    }
    server = await startServer([
      `--store=${store}`,
      `--work-dir=${join(folder, "work")}`,
      "--label-prefix=jobs.example.org/",
      "--api-group=example.org",
      "--archive",
      "--archive-deleted",
      "--auth-mode=client",
      `--token-file=${join(folder, "tokens.yaml")}`,
      `--access-file=${join(folder, "access.yaml")}`,
    ]);
  });
  afterAll(async () => {
    await server?.kill();
    await stopRedis?.();
    await rm(folder, { recursive: true, force: true, maxRetries: 5 });
  });

  async function call(
    method: string,
    path: string,
    body?: unknown,
    token = ALICE,
  ): Promise<{ status: number; text: string; json: JsonObject }> {
    const answer = await fetch(server.url + path, {
      method,
      headers: { Authorization: `Bearer ${token}`, "Content-Type": "application/json" },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    const text = await answer.text();
    said.push(`${method} ${path}: ${text}`);
    return { status: answer.status, text, json: text.startsWith("{") ? JSON.parse(text) : {} };
  }

  async function create(path: string, body: object): Promise<void> {
    const { status, text } = await call("POST", path, body);
    expect(status, text).toBe(200);
  }

  async function sluice(...args: string[]): Promise<string> {
    const child = spawn(process.execPath, [...RUNTIME, CLI, ...args], {
      env: { ...process.env, NO_COLOR: "1", SLUICE_SERVER: server.url, SLUICE_TOKEN: ALICE },
      stdio: ["ignore", "pipe", "pipe"],
    });
    let out = "";
    child.stdout.on("data", (chunk) => (out += chunk));
    child.stderr.on("data", (chunk) => (out += chunk));
    await new Promise((resolve) => child.once("close", resolve));
    said.push(`sluice ${args.join(" ")}: ${out}`);
    return out;
  }

  const metadataOf = (json: JsonObject) =>
    json["metadata"] as { name: string; uid: string } & Record<string, Record<string, string>>;

  async function reaches(name: string, phase: string): Promise<JsonObject> {
    let shown: JsonObject = {};
    await expect.poll(async () => {
      shown = (await call("GET", `/api/v1/workflows/default/${name}`)).json;
      return (shown["status"] as JsonObject | undefined)?.["phase"];
    }, { timeout: 30_000 }).toBe(phase);
    return shown;
  }

  const spec = { entrypoint: "main", templates: [{ name: "main", suspend: { duration: "0" } }] };
  const waiting = { entrypoint: "main", templates: [{ name: "main", suspend: {} }] };
  const own = (kind: string, name: string, more: object, apiVersion = "example.org/v1alpha1") => ({
    apiVersion,
    kind,
    metadata: { name },
    ...more,
  });

  test("labels of workflows, of events, of cron workflows and of copies", async () => {
    const workflow = own("Workflow", "made", { spec });
    expect((await call("POST", "/api/v1/workflows/default", { workflow })).status).toBe(200);
    const made = await reaches("made", "Succeeded");
    expect(metadataOf(made)["labels"]).toMatchObject({
      [`${PREFIX}completed`]: "true",
      [`${PREFIX}phase`]: "Succeeded",
      [`${PREFIX}creator`]: "alice",
    });
    expect(metadataOf(made)["annotations"]).toHaveProperty([`${PREFIX}pod-name-format`]);

    // The path determines the kind: manifests of the reference's group are accepted as well.
    const foreign = own("Workflow", "foreign", { spec: waiting }, "argoproj.io/v1alpha1");
    expect((await call("POST", "/api/v1/workflows/default", { workflow: foreign })).status).toBe(
      200,
    );
    await reaches("foreign", "Running");

    const template = own("WorkflowTemplate", "base", { spec });
    await create("/api/v1/workflow-templates/default", { template });
    const binding = own("WorkflowEventBinding", "bind", {
      spec: {
        event: { selector: "true" },
        submit: { workflowTemplateRef: { name: "base" }, metadata: { name: '"of-event"' } },
      },
    });
    await create("/api/v1/workflow-event-bindings/default", { binding });
    expect((await call("POST", "/api/v1/events/default/any", { a: 1 })).status).toBe(200);
    const ofEvent = await reaches("of-event", "Succeeded");
    expect(metadataOf(ofEvent)["labels"]).toMatchObject({
      [`${PREFIX}workflow-event-binding`]: "bind",
      [`${PREFIX}workflow-template`]: "base",
    });

    const copy = (await call("PUT", "/api/v1/workflows/default/made/resubmit", {})).json;
    expect(metadataOf(copy)["labels"]).toMatchObject({
      [`${PREFIX}resubmitted-from-workflow`]: "made",
    });

    const cronWorkflow = own("CronWorkflow", "tick", {
      spec: { schedules: ["@every 1s"], successfulJobsHistoryLimit: 9, workflowSpec: spec },
    });
    await create("/api/v1/cron-workflows/default", { cronWorkflow });
    await expect.poll(async () => {
      const { json } = await call(
        "GET",
        `/api/v1/workflows/default?listOptions.labelSelector=${PREFIX}cron-workflow%3Dtick,${PREFIX}completed%3Dtrue`,
      );
      return (json["items"] as JsonObject[] | null)?.length ?? 0;
    }, { timeout: 30_000 }).toBeGreaterThan(0);
    const cron = (await call("GET", "/api/v1/cron-workflows/default/tick")).json;
    expect(metadataOf(cron)["annotations"]).toHaveProperty([
      "cronworkflows.example.org/last-used-schedule",
    ]);
    await call("PUT", "/api/v1/cron-workflows/default/tick/suspend", {});
    const options = { labels: "a=b" };
    const submitted = await call("POST", "/api/v1/workflows/default/submit", {
      resourceKind: "CronWorkflow",
      resourceName: "tick",
      submitOptions: options,
    });
    expect(metadataOf(submitted.json)).toMatchObject({
      labels: { [`${PREFIX}cron-workflow`]: "tick" },
      ownerReferences: [{ apiVersion: "example.org/v1alpha1", kind: "CronWorkflow" }],
    });
  });

  test("the command line finds what runs and what has ended", async () => {
    const names = async (...args: string[]) =>
      (await sluice("list", "-o", "name", ...args)).split("\n");
    expect(await names("--completed")).toContain("made");
    expect(await names("--completed")).not.toContain("foreign");
    expect(await names("--running")).toEqual(["foreign", ""]);
    expect(await names("--status", "Running")).toEqual(["foreign", ""]);
    // The store files a workflow again whenever it ends or resumes.
    await call("PUT", "/api/v1/workflows/default/foreign/terminate", {});
    await reaches("foreign", "Failed");
    expect(await names("--running")).toEqual([""]);
    await call("PUT", "/api/v1/workflows/default/foreign/retry", {});
    await reaches("foreign", "Running");
    expect(await names("--running")).toEqual(["foreign", ""]);
    expect(await names("--resubmitted")).toHaveLength(2);
    const filled = await sluice(
      ...["cron", "backfill", "tick", "--start", "2026-01-01T00:00:00Z"],
      ...["--end", "2026-01-01T00:00:01Z", "--max-workflow-count", "5", "--parallel"],
    );
    const [, name = ""] = /workflow (\S+) created/.exec(filled) ?? [];
    const { json } = await call("GET", `/api/v1/workflows/default/${name}`);
    expect(metadataOf(json)["annotations"]?.[`${PREFIX}scheduled-time`]).toMatch(/^2026-01-01T/);
    expect(await sluice("delete", "--completed", "--prefix", "made")).toMatch(/made/);
    const deleted = await call("GET", "/api/v1/workflows/default/made");
    expect(metadataOf(deleted.json)["labels"]).toHaveProperty([
      `${PREFIX}workflow-archiving-status`,
    ]);
  });

  test("labels of the archive", async () => {
    const { json } = await call("GET", "/api/v1/archived-workflows?namePrefix=made");
    const [kept] = json["items"] as JsonObject[];
    const { uid } = metadataOf(kept ?? {});
    const archived = (await call("GET", `/api/v1/archived-workflows/${uid}`)).json;
    expect(metadataOf(archived)["labels"]).toMatchObject({
      [`${PREFIX}workflow-archiving-status`]: "Persisted",
    });
    const keys =
      (await call("GET", "/api/v1/archived-workflows-label-keys?namespace=default")).json;
    expect(keys["items"]).toContain(`${PREFIX}phase`);
    const retried = await call("PUT", `/api/v1/archived-workflows/${uid}/resubmit`, {
      namespace: "default",
    });
    expect(retried.status).toBe(200);
  });

  test("errors and refusals name the group", async () => {
    const texts = async (method: string, path: string, body?: unknown, token?: string) =>
      String((await call(method, path, body, token)).json["message"]);
    const missing: [path: string, plural: string][] = [
      ["/api/v1/workflows/default/none", "workflows"],
      ["/api/v1/workflow-templates/default/none", "workflowtemplates"],
      ["/api/v1/cluster-workflow-templates/none", "clusterworkflowtemplates"],
      ["/api/v1/cron-workflows/default/none", "cronworkflows"],
      ["/api/v1/workflow-event-bindings/default/none", "workfloweventbindings"],
      ["/api/v1/event-sources/default/none", "eventsources"],
    ];
    for (const [path, plural] of missing) {
      expect(await texts("GET", path)).toBe(`${plural}.example.org "none" not found`);
      expect((await call("GET", path, undefined, BOB)).status).toBe(403);
    }
    expect(await texts("GET", "/api/v1/workflows/default/none", undefined, BOB)).toBe(
      'workflows.example.org "none" is forbidden: User "bob" cannot get resource "workflows" in API group ' +
        '"example.org" in the namespace "default"',
    );
    // The rule names no group, so it means the deployment's.
    expect((await call("GET", "/api/v1/workflows/default", undefined, BOB)).status).toBe(200);
    expect(
      await texts("POST", "/api/v1/workflows/default", {
        workflow: own("Workflow", "foreign", { spec: waiting }),
      }),
    ).toBe('workflows.example.org "foreign" already exists');
    expect(
      await texts("POST", "/api/v1/workflows/default", {
        workflow: own("Workflow", "Not_A_Name", { spec: waiting }),
      }),
    ).toMatch(/example\.org|Not_A_Name/);
    const ref = (workflowTemplateRef: object) => ({
      workflow: own("Workflow", "refers", { spec: { workflowTemplateRef } }),
    });
    expect(await texts("POST", "/api/v1/workflows/default", ref({ name: "none" })))
      .toMatch(/workflowtemplates\.example\.org "?none"? not found/);
    expect(await texts("PUT", "/api/v1/workflows/default/none/stop", {}))
      .toBe('workflows.example.org "none" not found');
    expect(await texts("DELETE", "/api/v1/workflows/default/none"))
      .toBe('workflows.example.org "none" not found');
    await call("PUT", "/api/v1/workflow-templates/default/base", {
      template: own("WorkflowTemplate", "base", { spec }),
    });
  });

  test("nothing that was said names the reference's", async () => {
    for (
      const path of [
        "/api/v1/info",
        "/api/v1/version",
        "/api/v1/userinfo",
        "/api/v1/workflows/default",
        "/api/v1/workflow-templates/default",
        "/api/v1/cron-workflows/default",
        "/api/v1/workflow-event-bindings/default",
        "/api/v1/archived-workflows",
        "/openapi.json",
        "/schema/Workflow.json",
        "/schema/Manifest.json",
        "/api/v1/events/default/deliveries",
      ]
    ) await call("GET", path);
    const events = await fetch(`${server.url}/api/v1/stream/events/default`, {
      headers: { Authorization: `Bearer ${ALICE}` },
    });
    const reader = events.body?.getReader();
    const { value } = await reader?.read() ?? {};
    said.push(`events: ${new TextDecoder().decode(value)}`);
    await reader?.cancel();
    expect(said.at(-1)).toMatch(/"apiVersion":"example\.org\/v1alpha1"/);
    expect(said.filter((text) => STANDARD.test(text)).map((text) => around(text))).toEqual([]);
  });
});

test("pods, claims and objects of a cluster have only the names of the deployment", async () => {
  const kinds = await defineKinds("example.org", "named", true);
  const server = await startServer([
    "--store=memory:",
    "--executor=kubernetes",
    "--manifest-source=kubernetes",
    "--label-prefix=jobs.example.org/",
    "--api-group=example.org",
  ], { env: { KUBECONFIG: kinds.config } });
  try {
    const box = { image: "busybox", command: ["true"] };
    const own = {
      apiVersion: "v1",
      kind: "ConfigMap",
      metadata: { name: "made-by-a-step" },
    };
    await kinds.client.call({
      method: "POST",
      path: collectionPath(kinds.group, "Workflow", kinds.namespace),
      body: {
        kind: "Workflow",
        metadata: { name: "of-the-cluster" },
        spec: {
          entrypoint: "main",
          volumeClaimTemplates: [{
            metadata: { name: "work" },
            spec: { accessModes: ["ReadWriteOnce"], resources: { requests: { storage: "1Mi" } } },
          }],
          templates: [
            {
              name: "main",
              steps: [[
                { name: "pod", template: "pod" },
                { name: "told", template: "told" },
                { name: "object", template: "object" },
              ]],
            },
            {
              name: "pod",
              container: { ...box, volumeMounts: [{ name: "work", mountPath: "/work" }] },
            },
            {
              name: "told",
              metadata: { annotations: { [`${PREFIX}progress`]: "0/10" } },
              container: box,
              outputs: { parameters: [{ name: "o", valueFrom: { path: "/o" } }] },
            },
            {
              name: "object",
              resource: {
                action: "create",
                setOwnerReference: true,
                manifest: JSON.stringify(own),
              },
            },
          ],
        },
      },
    });
    const at = (type: string) =>
      kinds.client.call<{ items: JsonObject[] }>({
        path: `/api/v1/namespaces/${kinds.namespace}/${type}`,
      }).then(({ items }) => items);
    await expect.poll(() => at("pods"), { timeout: 30_000 }).toHaveLength(2);
    await expect.poll(() => at("configmaps"), { timeout: 30_000 }).toHaveLength(1);
    const path = objectPath(kinds.group, "Workflow", kinds.namespace, "of-the-cluster");
    const shown = () => kinds.client.call<JsonObject>({ path });
    await expect.poll(async () => (await shown())["status"], { timeout: 30_000 })
      .toMatchObject({ phase: "Running" });
    const pods = await at("pods");
    for (const { metadata } of pods) {
      expect(metadata).toMatchObject({
        labels: { [`${PREFIX}workflow`]: "of-the-cluster", [`${PREFIX}completed`]: "false" },
        annotations: { [`${PREFIX}node-name`]: expect.stringContaining("of-the-cluster[0].") },
      });
    }
    const [map] = await at("configmaps");
    expect(map).toMatchObject({
      metadata: { ownerReferences: [{ apiVersion: "example.org/v1alpha1", kind: "Workflow" }] },
    });
    const claims = await at("persistentvolumeclaims");
    expect(claims).toHaveLength(1);
    const everything = [...pods, ...claims, map, await shown()].map((one) => JSON.stringify(one));
    expect(everything.filter((text) => STANDARD.test(text)).map(around)).toEqual([]);
  } finally {
    await server.kill();
    await kinds.remove();
  }
});

/** The text next to the first standard name. */
function around(text: string): string {
  const at = text.search(STANDARD);
  return `${text.slice(0, 60)} … ${text.slice(Math.max(0, at - 60), at + 60)}`;
}
