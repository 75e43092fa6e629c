/** An installation of Argo Workflows is brought along from a cluster and from files: everything is told, nothing is lost. */
import { randomUUID } from "node:crypto";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { isJsonObject, type JsonObject } from "../../src/base/json.ts";
import { type Client, createClient } from "../../src/client/client.ts";
import { collectionPath } from "../../src/kubernetes/cluster_object.ts";
import { installation } from "../support/argo_installation.ts";
import { type ClusterKinds, defineKinds, kindsAreOn } from "../support/cluster_kinds.ts";
import { type ServerProcess, startServer } from "../support/server_process.ts";
import { type Outcome, runSluice } from "../support/sluice_cli.ts";

const STARTED_AT = Date.now() - 86_400_000;

interface Told {
  objects: { kind: string; name: string; verdict: string; outcome?: string; reason?: string }[];
  settings: { name: string }[];
  troubles: { what: string; why: string }[];
  summary: Record<string, Record<string, number>>;
}

let folder: string;
let server: ServerProcess;
let client: Client;

async function restart(): Promise<void> {
  await server?.stop();
  folder = await mkdtemp(join(tmpdir(), "sluice-migrate-"));
  server = await startServer([
    // What has ended long ago would move into the archive between two looks.
    "--archive-store=store",
    `--store=sqlite:${join(folder, "store")}`,
    `--work-dir=${join(folder, "work")}`,
    "--executor=none",
    "--archive-deleted",
  ]);
  client = createClient({ server: server.url });
}

function migrate(...args: string[]): Promise<Outcome> {
  return runSluice(["migrate", "argo", ...args], { env: { SLUICE_SERVER: server.url } });
}

function told({ out, err, status }: Outcome): Told & { status: number | null } {
  try {
    return { ...JSON.parse(out) as Told, status };
  } catch {
    throw new Error(`no report (status ${status}): ${out}${err}`);
  }
}

const named = ({ objects }: Told, name: string) => objects.find((one) => one.name === name);

/** Everything in the store, with versions: equal before and after a run that changes nothing. */
async function everything(namespace: string): Promise<string> {
  const lists = await Promise.all([
    client.call("WorkflowTemplateService_ListWorkflowTemplates", { params: { namespace } }),
    client.call("ClusterWorkflowTemplateService_ListClusterWorkflowTemplates", {}),
    client.call("CronWorkflowService_ListCronWorkflows", { params: { namespace } }),
    client.call("EventService_ListWorkflowEventBindings", { params: { namespace } }),
    client.call("ArchivedWorkflowService_ListArchivedWorkflows", { query: { namespace } }),
  ]);
  return JSON.stringify(lists.map(({ items }) => items));
}

beforeAll(restart);
afterAll(async () => {
  await server?.stop();
  await rm(folder, { recursive: true, force: true });
});

describe(`from a cluster (${kindsAreOn})`, () => {
  const id = randomUUID().slice(0, 8);
  const group = `a${id}.sluice.test`;
  const namespace = `mf-a${id}`;
  const objects = installation({
    namespace,
    apiVersion: `${group}/v1alpha1`,
    startedAt: STARTED_AT,
  });
  let kinds: ClusterKinds;

  const args = () => ["--kubeconfig", kinds.config, "--api-group", group, "-n", namespace];

  beforeAll(async () => {
    kinds = await defineKinds(group, namespace);
    for (const object of objects) {
      const path = object.kind === "ConfigMap"
        ? `/api/v1/namespaces/${namespace}/configmaps`
        : collectionPath(group, object.kind as "Workflow", namespace);
      await kinds.client.call({ method: "POST", path, body: object });
    }
  });
  afterAll(() => kinds?.remove());

  test("a dry run tells of all of them, and changes nothing", async () => {
    const before = await everything(namespace);
    const report = told(await migrate(...args(), "--with-workflows", "-o", "json"));
    expect(objects).toHaveLength(60);
    expect(report.troubles).toEqual([]);
    expect(report.summary).toMatchObject({
      WorkflowTemplate: { found: 21, refused: 2, partly: 3, created: 19 },
      ClusterWorkflowTemplate: { found: 4, works: 4, created: 4 },
      CronWorkflow: { found: 10, works: 10, created: 10 },
      WorkflowEventBinding: { found: 10, works: 10, created: 10 },
      // The settings of the controller are told, and nobody names the last one.
      ConfigMap: { found: 4, works: 3, left: 1, created: 3 },
      Workflow: { found: 9, works: 7, refused: 1, left: 1, created: 7 },
    });
    expect(report.settings.map(({ name }) => name)).toEqual([
      "instanceID",
      "parallelism",
      "persistence",
    ]);
    expect(named(report, "missing")).toMatchObject({ verdict: "refused" });
    expect(named(report, "cyclic")).toMatchObject({ verdict: "refused" });
    expect(named(report, "plugin")).toMatchObject({
      notes: [{ path: "spec.templates[0].plugin", text: expect.stringContaining("no plugins") }],
    });
    expect(named(report, "misspelt")).toMatchObject({ notes: [{ path: "spec.paralelism" }] });
    expect(named(report, "memo")).toMatchObject({ verdict: "left" });
    expect(named(report, "etl-7")).toMatchObject({
      verdict: "refused",
      reason: expect.stringContaining("--archive"),
    });
    expect(named(report, "etl-8")).toMatchObject({ verdict: "left" });
    expect(report.status).toBe(1);
    expect(await everything(namespace)).toBe(before);
  });

  test("--apply imports them, and a second run changes nothing", async () => {
    const first = told(await migrate(...args(), "--with-workflows", "--apply", "-o", "json"));
    expect(first.summary).toMatchObject({
      WorkflowTemplate: { created: 19, refused: 2 },
      ClusterWorkflowTemplate: { created: 4 },
      CronWorkflow: { created: 10 },
      WorkflowEventBinding: { created: 10 },
      ConfigMap: { created: 3 },
      Workflow: { created: 7, refused: 1, left: 1 },
    });
    const after = await everything(namespace);
    const second = told(await migrate(...args(), "--with-workflows", "--apply", "-o", "json"));
    expect(second.summary).toMatchObject({
      WorkflowTemplate: { created: 0, unchanged: 19 },
      ClusterWorkflowTemplate: { unchanged: 4 },
      CronWorkflow: { unchanged: 10 },
      WorkflowEventBinding: { unchanged: 10 },
      ConfigMap: { unchanged: 3 },
      Workflow: { created: 0, unchanged: 7, refused: 1, left: 1 },
    });
    expect(await everything(namespace)).toBe(after);
  });

  test("cron workflows are suspended, and may be resumed before the next run", async () => {
    const params = { namespace, name: "nightly-1" };
    const cron = await client.call("CronWorkflowService_GetCronWorkflow", { params });
    expect(cron.spec).toMatchObject({ suspend: true, timezone: "Europe/Berlin" });
    await client.call("CronWorkflowService_ResumeCronWorkflow", { params, body: params });
    const report = told(await migrate(...args(), "--apply", "-o", "json"));
    expect(report.summary).toMatchObject({ CronWorkflow: { unchanged: 10 } });
    const active = told(await migrate(...args(), "--active-crons", "-o", "json"));
    // One is resumed already, one is suspended there too.
    expect(active.summary).toMatchObject({ CronWorkflow: { unchanged: 2, differs: 8 } });
  });

  test("a finished workflow keeps uid, times, nodes and outcome", async () => {
    for (const name of ["etl-0", "etl-6"]) {
      const given = objects.find(({ metadata }) => metadata.name === name);
      const path = collectionPath(group, "Workflow", namespace) + `/${name}`;
      const { metadata } = await kinds.client.call<JsonObject>({ path });
      const uid = isJsonObject(metadata) ? String(metadata["uid"]) : "";
      const kept = await client.call("ArchivedWorkflowService_GetArchivedWorkflow", {
        params: { uid },
      });
      expect(kept.metadata).toMatchObject({
        name,
        namespace,
        uid,
        creationTimestamp: isJsonObject(metadata) ? metadata["creationTimestamp"] : "",
      });
      const status = isJsonObject(given?.["status"]) ? given["status"] : {};
      const { phase, startedAt, finishedAt } = status;
      expect(kept.status).toMatchObject({ phase, startedAt, finishedAt });
      const nodes = Object.keys(kept.status?.nodes ?? {});
      expect(nodes).toHaveLength(name === "etl-0" ? 101 : 9);
      expect(kept.status?.nodes?.[`${name}-1`]).toMatchObject({ hostNodeName: "node-1" });
    }
  });

  test("what differs at the server is told, and replaced only by --overwrite", async () => {
    const params = { namespace, name: "plain-0" };
    const known = await client.call("WorkflowTemplateService_GetWorkflowTemplate", { params });
    const changed = { ...known, spec: { ...known.spec, priority: 7 } };
    const body = { namespace, template: changed };
    await client.call("WorkflowTemplateService_UpdateWorkflowTemplate", { params, body });
    const differs = await migrate(...args(), "--apply");
    expect(differs.status).toBe(1);
    expect(differs.out).toContain(`≠ WorkflowTemplate ${namespace}/plain-0`);
    const kept = await client.call("WorkflowTemplateService_GetWorkflowTemplate", { params });
    expect(kept.spec).toMatchObject({ priority: 7 });
    const report = told(await migrate(...args(), "--apply", "--overwrite", "-o", "json"));
    expect(named(report, "plain-0")).toMatchObject({ outcome: "replaced" });
    const again = await client.call("WorkflowTemplateService_GetWorkflowTemplate", { params });
    expect(again.spec).not.toHaveProperty("priority");
  });

  test("--instance-id selects what belongs to one of several controllers", async () => {
    const report = told(await migrate(...args(), "--instance-id", "blue", "-o", "json"));
    expect(report.summary).toMatchObject({ WorkflowTemplate: { found: 5 } });
  });
});

describe("what is not imported is told", () => {
  const id = randomUUID().slice(0, 8);
  const group = `b${id}.sluice.test`;
  const namespace = `mf-b${id}`;
  const rule = "workflows.argoproj.io/rbac-rule";
  const objects: { kind: string; metadata: { name: string } }[] = [
    { kind: "Secret", metadata: { name: "argo-workflows-webhook-clients" } },
    { kind: "Secret", metadata: { name: "other" } },
    { kind: "ServiceAccount", metadata: { name: "plain" } },
    {
      kind: "ServiceAccount",
      metadata: { name: "admins", annotations: { [rule]: "'admin' in groups" } },
    } as never,
  ];
  const told = [
    expect.objectContaining({ kind: "Secret", name: "argo-workflows-webhook-clients" }),
    {
      kind: "ServiceAccount",
      namespace,
      name: "admins",
      verdict: "left",
      reason: expect.stringContaining(`"'admin' in groups": write them as rules`) as string,
    },
  ];
  let kinds: ClusterKinds;

  beforeAll(async () => {
    kinds = await defineKinds(group, namespace, true);
    const call = (path: string, body: object) =>
      kinds.client.call({ method: "POST", path, body: body as JsonObject });
    const core = `/api/v1/namespaces/${namespace}`;
    for (const object of objects) {
      await call(`${core}/${object.kind.toLowerCase()}s`, object);
    }
    const map = (name: string, data: object) =>
      call(`${core}/configmaps`, { metadata: { name }, data });
    await map("sizes", { work: "2" });
    await map("other-settings", { parallelism: "5" });
    const leaf = { name: "main", container: { image: "busybox", command: ["true"] } };
    const semaphore = (name: string) => ({
      synchronization: { semaphores: [{ configMapKeyRef: { name, key: "work" } }] },
    });
    const template = (kind: "ClusterWorkflowTemplate", name: string, sizes: string) =>
      call(collectionPath(group, kind), {
        metadata: { name },
        spec: { entrypoint: "main", templates: [leaf], ...semaphore(sizes) },
      });
    await template("ClusterWorkflowTemplate", `used-${id}`, "sizes");
    await template("ClusterWorkflowTemplate", `unused-${id}`, "elsewhere");
    await call(collectionPath(group, "CronWorkflow", namespace), {
      metadata: { name: "user" },
      spec: {
        schedules: ["0 1 * * *"],
        workflowSpec: { workflowTemplateRef: { name: `used-${id}`, clusterScope: true } },
      },
    });
  });
  afterAll(() => kinds?.remove());

  const run = (...more: string[]) =>
    migrate("--kubeconfig", kinds.config, "--api-group", group, "-n", namespace, ...more);

  test("webhook senders, rules of accounts, settings under another name, maps of cluster templates", async () => {
    const { out, status } = await run("-o", "json", "--controller-configmap", "other-settings");
    const report = JSON.parse(out) as Told & { unseen: unknown[] };
    expect(report.objects.filter(({ kind }) => ["Secret", "ServiceAccount"].includes(kind)))
      .toEqual(told);
    expect(report.settings.map(({ name }) => name)).toEqual(["parallelism"]);
    expect(report).toMatchObject({ unseen: [], troubles: [] });
    expect(named(report, "sizes")).toMatchObject({ kind: "ConfigMap", outcome: "created" });
    expect(named(report, `used-${id}`)).toMatchObject({ verdict: "works" });
    expect(named(report, `unused-${id}`)).toMatchObject({
      verdict: "partly",
      notes: [{ path: "ConfigMap elsewhere" }],
    });
    expect(status).toBe(0);
  });

  test("whoever may not look at them is told so, and the report is still whole", async () => {
    kinds.server?.forbid(["/secrets", "/serviceaccounts", "/api/v1/configmaps"]);
    const { out, status } = await run();
    kinds.server?.forbid([]);
    expect(out).toMatch(/Not looked at:\n {4}the controller's settings: .*forbidden/);
    expect(out).toMatch(/webhook senders: .*forbidden[^]*single sign-on: .*forbidden/);
    expect(status).toBe(0);
  });

  test("settings that are not found are asked for", async () => {
    expect((await run()).out).toContain(
      "no ConfigMap workflow-controller-configmap was found; --controller-configmap names another",
    );
  });

  test("in files, too", async () => {
    const file = join(folder, "accounts.json");
    const items = objects.map((object) => ({
      ...object,
      metadata: { ...object.metadata, namespace },
    }));
    await writeFile(file, JSON.stringify({ kind: "List", items }));
    const { out } = await migrate("-f", file, "-o", "json", "--instance-id", "x");
    expect((JSON.parse(out) as Told).objects).toEqual(told);
  });
});

describe("from files", () => {
  const namespace = "team-f";
  let file: string;

  beforeAll(async () => {
    const items = installation({
      namespace,
      apiVersion: "argoproj.io/v1alpha1",
      startedAt: STARTED_AT,
    }).map((object, i) =>
      object.kind === "Workflow"
        ? {
          ...object,
          metadata: {
            ...object.metadata,
            uid: `file-${i}`,
            creationTimestamp: "2026-01-01T00:00:00Z",
          },
        }
        : object
    );
    file = join(folder, "argo.json");
    await writeFile(file, JSON.stringify({ apiVersion: "v1", kind: "List", items }));
  });

  test("a dry run needs no server, and says so", async () => {
    const { out, err, status } = await runSluice(["migrate", "argo", "-f", file], {
      env: { SLUICE_SERVER: "http://127.0.0.1:1" },
    });
    expect(status).toBe(1);
    expect(err).toContain("cannot tell what is already there");
    expect(out).toContain("✖ WorkflowTemplate team-f/missing:");
    expect(out).toContain("! WorkflowTemplate team-f/plugin\n    spec.templates[0].plugin: ");
    expect(out).toContain("    parallelism: there is no such bound");
    expect(out).toMatch(/^WorkflowTemplate +21 +16 +3 +2 +0 +0 /m);
    expect(out).toContain("Nothing was changed: --apply imports.");
    expect(
      (await runSluice(["migrate", "argo", "-f", file, "--apply"], {
        env: { SLUICE_SERVER: "http://127.0.0.1:1" },
      })).err,
    ).toContain("Cannot reach");
  });

  test("they are imported like those of a cluster", async () => {
    const args = ["-f", file, "--with-workflows", "--apply", "-o", "json"];
    const first = told(await migrate(...args));
    expect(first.summary).toMatchObject({
      WorkflowTemplate: { created: 19 },
      ConfigMap: { found: 5, created: 4, left: 1 },
      Workflow: { created: 7 },
    });
    const after = await everything(namespace);
    const second = told(await migrate(...args));
    expect(second.summary).toMatchObject({
      WorkflowTemplate: { unchanged: 19 },
      ConfigMap: { unchanged: 4 },
      Workflow: { unchanged: 7 },
    });
    expect(await everything(namespace)).toBe(after);
  });

  test("a dry run refuses what the server would refuse for its nodes", async () => {
    const odd = join(folder, "odd.json");
    const { kind, ...workflow } = installation({
      namespace,
      apiVersion: "argoproj.io/v1alpha1",
      startedAt: STARTED_AT,
    }).find((one) => one.kind === "Workflow") ?? { kind: "", metadata: { name: "" } };
    const metadata = {
      ...workflow.metadata,
      uid: "odd-1",
      creationTimestamp: "2026-01-01T00:00:00Z",
    };
    const status = { ...(workflow as JsonObject)["status"] as JsonObject, nodes: { a: { id: 7 } } };
    await writeFile(odd, JSON.stringify({ ...workflow, kind, metadata, status }));
    const reports = [];
    for (const more of [[], ["--apply"]]) {
      const report = told(await migrate("-f", odd, "--with-workflows", "-o", "json", ...more));
      reports.push(report.objects);
    }
    expect(reports[0]).toMatchObject([{ verdict: "refused" }]);
    expect(reports[0]).toEqual(reports[1]);
  });

  test("a file that cannot be read is told; the others are imported", async () => {
    const broken = join(folder, "broken.yaml");
    await writeFile(broken, "kind: [");
    const report = told(await migrate("-f", broken, "-f", file, "-o", "json"));
    expect(report.troubles).toMatchObject([{ what: broken }]);
    expect(report.summary).toMatchObject({ WorkflowTemplate: { found: 21 } });
    expect(report.status).toBe(1);
  });

  test("what Argo's server has labelled is unchanged in a second run; other kinds, and manifests that differ, are told", async () => {
    const labelled = join(folder, "labelled.json");
    const template = (image: string) => ({
      apiVersion: "argoproj.io/v1alpha1",
      kind: "WorkflowTemplate",
      metadata: {
        name: "labelled",
        namespace: "labelled",
        labels: {
          app: "x",
          "workflows.argoproj.io/creator": "ann",
          "workflows.argoproj.io/creator-email": "ann.at.example.com",
          "workflows.argoproj.io/actor": "bob",
          "workflows.argoproj.io/action": "Update",
        },
      },
      spec: { templates: [{ name: "main", container: { image, command: ["true"] } }] },
    });
    const settings = (namespace: string, name: string) => ({
      apiVersion: "v1",
      kind: "ConfigMap",
      metadata: { name: "workflow-controller-configmap", namespace },
      data: { [name]: "5" },
    });
    const others = [
      { apiVersion: "apps/v1", kind: "Deployment", metadata: { name: "d" } },
      settings("argo", "parallelism"),
      settings("argo-two", "namespaceParallelism"),
    ];
    const write = (...items: unknown[]) =>
      writeFile(labelled, JSON.stringify({ kind: "List", apiVersion: "v1", items }));
    await write(template("a"), ...others);
    for (const outcome of ["created", "unchanged"]) {
      const report = told(await migrate("-f", labelled, "-o", "json", "--apply"));
      expect(report.objects).toMatchObject([{ verdict: "works", outcome }]);
      expect(report.status).toBe(0);
      expect(report).toMatchObject({
        troubles: [],
        unseen: [{ what: "Deployment" }],
        settings: [{ name: "parallelism" }, { name: "namespaceParallelism" }],
      });
    }
    await write(template("a"), template("a"), template("b"));
    const report = told(await migrate("-f", labelled, "-o", "json"));
    expect(report.troubles).toEqual([{
      what: "WorkflowTemplate/labelled/labelled",
      why: expect.stringContaining("only the last one counts"),
    }]);
    expect(report.objects).toMatchObject([{ outcome: "differs" }]);
    expect(report.status).toBe(1);
  });

  test("a place with nothing in it is told", async () => {
    const nothing = await mkdtemp(join(folder, "nothing-"));
    const { out, status } = await migrate("-f", nothing);
    expect(out).toContain("Not looked at:\n    files: nothing was found there");
    expect(status).toBe(0);
  });

  test("wrong use is status 2", async () => {
    expect((await migrate("-f", folder, "--context", "x")).status).toBe(2);
    expect((await migrate("--archive-only")).status).toBe(2);
    expect((await migrate("--archive", "oracle://x")).status).toBe(2);
  });
});
