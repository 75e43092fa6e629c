/**
 * Two real replicas on one Redis with a cluster as their source: applied manifests take effect, Workflow objects run
 * once each whatever dies in between, and the objects show their state.
 */
import { randomUUID } from "node:crypto";
import process from "node:process";
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import type { JsonObject } from "../../../../src/base/json.ts";
import {
  type ClusterKind,
  collectionPath,
  objectPath,
} from "../../../../src/kubernetes/cluster_object.ts";
import { KubeError } from "../../../../src/kubernetes/kube_client.ts";
import type { Workflow } from "../../../../src/spec/manifest.ts";
import { type ClusterKinds, defineKinds, kindsAreOn } from "../../../support/cluster_kinds.ts";
import { type RedisServer, startRedisServer } from "../../../support/redis_server.ts";
import { type ServerProcess, startServer } from "../../../support/server_process.ts";

const PATIENCE = { timeout: 20_000, interval: 50 };
const PHASE = "workflows.argoproj.io/phase";

interface Shown extends JsonObject {
  metadata: JsonObject & { name: string; uid: string; labels?: Record<string, string> };
  spec: JsonObject;
  status?: JsonObject & { phase?: string; message?: string };
}

const TEMPLATE = {
  entrypoint: "main",
  arguments: { parameters: [{ name: "who", value: "nobody" }] },
  templates: [{
    name: "main",
    inputs: { parameters: [{ name: "uuid", value: "{{workflow.parameters.who}}" }] },
    suspend: {},
  }],
};

describe(`Workflow objects (on ${kindsAreOn})`, () => {
  const id = randomUUID().slice(0, 8);
  let kinds: ClusterKinds;
  let redis: RedisServer;
  const servers: ServerProcess[] = [];

  const start = async (index: number) => {
    servers[index] = await startServer([
      `--store=${redis.url}`,
      "--executor=none",
      "--lease-ttl=1000ms",
      "--manifest-source=kubernetes",
      `--api-group=${kinds.group}`,
      `--namespace=${kinds.namespace}`,
    ], { env: { KUBECONFIG: kinds.config } });
  };

  beforeAll(async () => {
    redis = await startRedisServer(["--appendonly", "yes"]);
    kinds = await defineKinds(`w${id}.sluice.test`, `mf-w${id}`);
    await apply("WorkflowTemplate", "base", TEMPLATE);
    await apply("WorkflowEventBinding", "early", bindingOf("early"));
    await Promise.all([start(0), start(1)]);
  });
  afterAll(async () => {
    await Promise.all(servers.map((server) => server.kill()));
    await kinds?.remove();
    await redis?.stop();
  });

  afterEach(({ task }) => {
    if (task.result?.state !== "fail") return;
    for (const { log } of servers) process.stderr.write(`${log.join("\n")}\n`);
  });

  const bindingOf = (type: string): JsonObject => ({
    event: { selector: `payload.type == "${type}"` },
    submit: {
      workflowTemplateRef: { name: "base" },
      arguments: { parameters: [{ name: "who", valueFrom: { event: "payload.who" } }] },
    },
  });
  type Kind = ClusterKind | "Workflow";
  const apply = (kind: Kind, name: string, spec: JsonObject, rest: Partial<Shown> = {}) =>
    kinds.client.call<Shown>({
      method: "POST",
      path: collectionPath(kinds.group, kind, kinds.namespace),
      body: {
        apiVersion: `${kinds.group}/v1alpha1`,
        kind,
        metadata: { name, ...rest.metadata },
        spec,
        ...(rest.status && { status: rest.status }),
      },
    });
  const pathOf = (kind: Kind, name: string) => objectPath(kinds.group, kind, kinds.namespace, name);
  const read = async (kind: Kind, name: string): Promise<Shown | undefined> => {
    try {
      return await kinds.client.call<Shown>({ path: pathOf(kind, name) });
    } catch (error) {
      if (error instanceof KubeError && error.status === 404) return undefined;
      throw error;
    }
  };
  const patch = (name: string, body: JsonObject) =>
    kinds.client.call({ method: "PATCH", path: pathOf("Workflow", name), body });
  const remove = (kind: Kind, name: string) =>
    kinds.client.call({ method: "DELETE", path: pathOf(kind, name) });
  const phaseOf = async (name: string) => (await read("Workflow", name))?.status?.phase ?? "";
  const reaches = (name: string, phase: string) =>
    expect.poll(() => phaseOf(name), PATIENCE).toBe(phase);

  const rest = async (method: string, path: string, body?: JsonObject) => {
    const response = await fetch(`${servers[1]?.url}/api/v1/${path}`, {
      method,
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    return { status: response.status, body: await response.json() as JsonObject };
  };
  const workflows = async (): Promise<Workflow[]> =>
    (await rest("GET", `workflows/${kinds.namespace}`)).body["items"] as unknown as Workflow[] ??
      [];
  const find = async (name: string) =>
    (await workflows()).find(({ metadata }) => metadata.name === name);
  const kill = (index: number) => servers[index]?.kill();
  const useBase = (who: string): JsonObject => ({
    workflowTemplateRef: { name: "base" },
    arguments: { parameters: [{ name: "who", value: who }] },
  });
  const resume = (name: string) => rest("PUT", `workflows/${kinds.namespace}/${name}/resume`, {});

  test("what was applied while all were down counts from the first request on", async () => {
    const { status } = await rest("POST", `events/${kinds.namespace}/`, {
      type: "early",
      who: "a",
    });
    expect(status).toBe(200);
    await expect.poll(async () => (await workflows()).length, PATIENCE).toBe(1);
  });

  test("a faulty object is told so and harms no other", async () => {
    await apply("WorkflowEventBinding", "faulty", bindingOf('" =='));
    await apply("WorkflowTemplate", "malformed", { templates: 7 });
    await apply("WorkflowEventBinding", "late", bindingOf("late"));
    for (
      const [kind, name] of [["WorkflowEventBinding", "faulty"], ["WorkflowTemplate", "malformed"]]
    ) {
      await expect.poll(async () => (await read(kind as Kind, name ?? ""))?.status, PATIENCE)
        .toMatchObject({ conditions: [{ type: "SpecError", status: "True" }] });
    }
    await rest("POST", `events/${kinds.namespace}/`, { type: "late", who: "late" });
    await expect.poll(async () => (await workflows()).length, PATIENCE).toBe(2);
    await remove("WorkflowEventBinding", "faulty");
  });

  test("an object runs under its own uid; its state is shown; resume and deletion by REST reach it", async () => {
    const { metadata } = await apply("Workflow", "one", useBase("one"));
    await reaches("one", "Running");
    expect((await find("one"))?.metadata.uid).toBe(metadata.uid);
    await resume("one");
    await reaches("one", "Succeeded");
    const object = await read("Workflow", "one");
    expect(object?.metadata.labels?.[PHASE]).toBe("Succeeded");
    expect(object?.status).toMatchObject({ progress: "1/1", nodes: expect.anything() });
    const answer = await rest("DELETE", `workflows/${kinds.namespace}/one`);
    expect(answer.status).toBe(200);
    expect(await read("Workflow", "one")).toBeUndefined();
    expect(await find("one")).toBeUndefined();
  });

  test("edits of the spec are commands; deletion deletes; a new object of the name is a new run", async () => {
    const first = await apply("Workflow", "two", useBase("two"));
    await reaches("two", "Running");
    await patch("two", { spec: { suspend: true } });
    await expect.poll(async () => (await find("two"))?.spec.suspend, PATIENCE).toBe(true);
    await patch("two", { spec: { suspend: null } });
    await expect.poll(async () => (await find("two"))?.spec.suspend, PATIENCE).toBeUndefined();
    expect(await phaseOf("two")).toBe("Running");
    await rest("PUT", `workflows/${kinds.namespace}/two/suspend`, {});
    await expect.poll(async () => (await read("Workflow", "two"))?.spec["suspend"], PATIENCE)
      .toBe(true);
    await remove("Workflow", "two");
    await expect.poll(() => find("two"), PATIENCE).toBeUndefined();
    const second = await apply("Workflow", "two", useBase("two"));
    await expect.poll(async () => (await find("two"))?.metadata.uid, PATIENCE)
      .toBe(second.metadata.uid);
    expect(second.metadata.uid).not.toBe(first.metadata.uid);
    await patch("two", { spec: { shutdown: "Terminate" } });
    await reaches("two", "Failed");
  });

  test("what can't run ends in Failed with the reason; another controller's is left alone", async () => {
    await apply("Workflow", "wrong", { entrypoint: "nowhere", templates: [] });
    await reaches("wrong", "Failed");
    expect((await read("Workflow", "wrong"))?.status?.message).toMatch(/^invalid spec: /);
    const labels = { "workflows.argoproj.io/controller-instanceid": "other" };
    await apply("Workflow", "given-away", useBase("x"), { metadata: { labels } as never });
    await apply("Workflow", "begun-elsewhere", useBase("x"), { status: { phase: "Running" } });
    await rest("POST", `workflows/${kinds.namespace}`, {
      workflow: { metadata: { name: "taken" }, spec: useBase("rest") },
    });
    await apply("Workflow", "taken", useBase("kubectl"));
    await reaches("taken", "Failed");
    expect((await find("taken"))?.status?.phase).toBe("Running");
    for (const name of ["given-away", "begun-elsewhere"]) {
      expect(await find(name)).toBeUndefined();
      expect((await read("Workflow", name))?.metadata["annotations"]).toBeUndefined();
    }
  });

  test("an object whose time to live is over goes with its workflow", async () => {
    await apply("Workflow", "brief", {
      ...useBase("brief"),
      ttlStrategy: { secondsAfterCompletion: 1 },
    });
    await reaches("brief", "Running");
    await resume("brief");
    await expect.poll(() => read("Workflow", "brief"), PATIENCE).toBeUndefined();
  });

  test(
    "replicas die, all of them too: every object runs once, and what was missed is made good",
    async () => {
      const names = Array.from({ length: 24 }, (_, index) => `many-${index}`);
      const made = new Map<string, string>();
      const make = async (name: string) => {
        const { metadata } = await apply("Workflow", name, useBase(name));
        made.set(metadata.uid, name);
      };
      const beginnings = new Map<string, string>();
      for (const [index, name] of names.entries()) {
        await make(name);
        if (index === 5) await kill(0);
        if (index === 9) await start(0);
        if (index === 11) await Promise.all([kill(0), kill(1)]);
        if (index === 17) await Promise.all([start(0), start(1)]);
      }
      for (const name of names) await reaches(name, "Running");
      const running = (await workflows()).filter(({ metadata }) =>
        metadata.name?.startsWith("many-")
      );
      expect(new Map(running.map(({ metadata }) => [metadata.uid, metadata.name]))).toEqual(made);
      for (const { metadata, status } of running) {
        beginnings.set(metadata.name ?? "", status?.startedAt ?? "");
      }
      await Promise.all([kill(0), kill(1)]);
      await remove("Workflow", "many-0");
      await patch("many-1", { spec: { shutdown: "Stop" } });
      await remove("WorkflowTemplate", "malformed");
      await apply("WorkflowTemplate", "later", TEMPLATE);
      await Promise.all([start(0), start(1)]);
      expect((await rest("GET", `workflow-templates/${kinds.namespace}/later`)).status).toBe(200);
      expect((await rest("GET", `workflow-templates/${kinds.namespace}/malformed`)).status).toBe(
        404,
      );
      await reaches("many-1", "Failed");
      await expect.poll(() => find("many-0"), PATIENCE).toBeUndefined();
      await Promise.all(names.slice(2).map((name) => resume(name)));
      await kill(0);
      for (const name of names.slice(2)) await reaches(name, "Succeeded");
      for (const { metadata, status } of await workflows()) {
        const began = beginnings.get(metadata.name ?? "");
        if (began !== undefined) expect(status?.startedAt).toBe(began);
      }
    },
    120_000,
  );
});
