/**
 * `stream/events` about pods: the cluster's own events if it runs them (on an API server in the test, or the cluster
 * that `SLUICE_TEST_KUBECONFIG` names), or events derived from the nodes if this machine runs the steps.
 */
import { randomUUID } from "node:crypto";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { KubeError } from "../../../../src/kubernetes/kube_client.ts";
import { type ClusterKinds, defineKinds, kindsAreOn } from "../../../support/cluster_kinds.ts";
import { type ServerProcess, startServer } from "../../../support/server_process.ts";

const PATIENCE = { timeout: 30_000, interval: 50 };
const SELECTOR = "listOptions.fieldSelector=involvedObject.kind=Pod,involvedObject.name=";

interface Shown {
  reason: string;
  message: string;
  type: string;
  involvedObject: { kind: string; name: string; namespace: string };
}

/** Reads a stream into a growing list. */
async function reading(
  server: ServerProcess,
  path: string,
): Promise<{ shown: Shown[]; stop: () => void }> {
  const stop = new AbortController();
  const response = await fetch(`${server.url}/api/v1/stream/events/${path}`, {
    signal: stop.signal,
  });
  expect(response.status).toBe(200);
  const shown: Shown[] = [];
  void (async () => {
    let rest = "";
    const decoder = new TextDecoder();
    for await (const part of response.body ?? []) {
      const lines = (rest + decoder.decode(part, { stream: true })).split("\n");
      rest = lines.pop() ?? "";
      shown.push(...lines.filter(Boolean).map((line) => JSON.parse(line).result));
    }
  })().catch(() => {});
  return { shown, stop: () => stop.abort() };
}

describe(`on ${kindsAreOn}`, () => {
  let kinds: ClusterKinds;
  let server: ServerProcess;

  beforeAll(async () => {
    const run = randomUUID().slice(0, 8);
    kinds = await defineKinds(`e${run}.sluice.test`, `pod-events-${run}`);
    server = await startServer(["--store=memory:", "--executor=kubernetes", "--instance=events"], {
      env: { KUBECONFIG: kinds.config },
    });
  });
  afterAll(async () => {
    await server?.kill();
    await kinds?.remove();
  });

  async function tell(
    name: string,
    pod: string,
    reason: string,
    message = `${reason} it`,
  ): Promise<void> {
    const call = {
      method: "POST",
      path: `/api/v1/namespaces/${kinds.namespace}/events`,
      body: {
        metadata: { name },
        involvedObject: { kind: "Pod", name: pod, namespace: kinds.namespace, apiVersion: "v1" },
        reason,
        message,
        type: "Normal",
        source: { component: "kubelet" },
        firstTimestamp: "2026-01-01T00:00:00Z",
        lastTimestamp: "2026-01-01T00:00:00Z",
      },
    } as const;
    for (;;) {
      try {
        return void await kinds.client.call(call);
      } catch (error) {
        // Broken connections hit the test's own calls too; the answer of an earlier attempt may be lost.
        if (!(error instanceof KubeError)) throw error;
        if (error.reason === "AlreadyExists") return;
        if (!error.isTransient) throw error;
      }
    }
  }

  test("an event that names the command of a pod shows no callback URL", async () => {
    const token = `cb1.00000000.e30.${"A".repeat(43)}`;
    await tell("d.1", "pod-d", "Failed", `exec "/bin/run http://x/callback/resume/${token}": gone`);
    const { shown, stop } = await reading(server, `${kinds.namespace}?${SELECTOR}pod-d`);
    await expect.poll(() => shown.map(({ message }) => message), PATIENCE)
      .toEqual(['exec "/bin/run http://x/callback/resume/callback:masked": gone']);
    stop();
  });

  test("the cluster's events of one pod come as they are, before and after a broken watch, each once", async () => {
    await tell("a.1", "pod-a", "Scheduled");
    await tell("b.1", "pod-b", "Scheduled");
    const { shown, stop } = await reading(server, `${kinds.namespace}?${SELECTOR}pod-a`);
    const reasons = () => shown.map(({ reason }) => reason);
    await expect.poll(reasons, PATIENCE).toEqual(["Scheduled"]);
    expect(shown[0]).toMatchObject({
      message: "Scheduled it",
      involvedObject: { kind: "Pod", name: "pod-a" },
      source: { component: "kubelet" },
    });
    await tell("a.2", "pod-a", "Pulled");
    await expect.poll(reasons, PATIENCE).toEqual(["Scheduled", "Pulled"]);
    kinds.server?.compact();
    await tell("b.2", "pod-b", "Pulled");
    await tell("a.3", "pod-a", "Started");
    await expect.poll(reasons, PATIENCE).toEqual(["Scheduled", "Pulled", "Started"]);
    stop();
    const workflows = await reading(
      server,
      `${kinds.namespace}?listOptions.fieldSelector=involvedObject.kind=Workflow&listOptions.timeoutSeconds=1`,
    );
    expect(workflows.shown).toEqual([]);
  });

  test.runIf(kindsAreOn !== "a real cluster")("a cluster that doesn't answer is told", async () => {
    // The executor's own calls are refused meanwhile, too.
    kinds.server?.refuse(1_000);
    const path = `/api/v1/stream/events/${kinds.namespace}?${SELECTOR}pod-a`;
    const response = await fetch(`${server.url}${path}`);
    expect(response.status).toBe(503);
    expect(await response.text()).toContain("the cluster can't tell its events");
    kinds.server?.refuse(0);
  });
});

describe("on this machine", () => {
  let server: ServerProcess;
  let folder: string;

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), "sluice-pod-events-"));
    server = await startServer([`--store=sqlite:${folder}`, "--executor=process"]);
  });
  afterAll(async () => {
    await server?.kill();
    await rm(folder, { recursive: true, force: true, maxRetries: 5 });
  });

  async function submit(name: string, exitCode: number): Promise<void> {
    const response = await fetch(`${server.url}/api/v1/workflows/default`, {
      method: "POST",
      body: JSON.stringify({
        workflow: {
          metadata: { name },
          spec: {
            entrypoint: "main",
            templates: [
              { name: "main", steps: [[{ name: "one", template: "a-step" }]] },
              {
                name: "a-step",
                container: { image: "x", command: ["sh", "-c", `exit ${exitCode}`] },
              },
            ],
          },
        },
      }),
    });
    expect(response.status).toBe(200);
    await response.body?.cancel();
  }

  async function podOf(name: string): Promise<string> {
    const response = await fetch(`${server.url}/api/v1/workflows/default/${name}`);
    const { status } = await response.json() as {
      status: { nodes?: Record<string, { id: string; type: string; name: string }> };
    };
    const node = Object.values(status.nodes ?? {}).find(({ type }) => type === "Pod");
    return node === undefined ? "" : `${name}-a-step-${node.id.slice(name.length + 1)}`;
  }

  test("a step's start and exit are events of its pod, before and after", async () => {
    const { shown: live, stop } = await reading(
      server,
      "default?listOptions.fieldSelector=involvedObject.kind=Pod",
    );
    const { shown: others, stop: stopOthers } = await reading(server, "default");
    await submit("wf-bad", 3);
    await submit("wf-good", 0);
    const wanted = {
      "wf-bad": [
        ["Normal", "Started", "Started the step"],
        ["Warning", "Failed", "Ended with exit code 3: main: Error (exit code 3)"],
      ],
      "wf-good": [
        ["Normal", "Started", "Started the step"],
        ["Normal", "Completed", "Ended with exit code 0"],
      ],
    };
    const toldOf = (list: Shown[], pod: string) =>
      list.filter(({ involvedObject }) => involvedObject.name === pod)
        .map(({ type, reason, message }) => [type, reason, message]);
    for (const [name, events] of Object.entries(wanted)) {
      await expect.poll(async () => toldOf(live, await podOf(name)), PATIENCE).toEqual(events);
      const pod = await podOf(name);
      const { shown: later, stop: stopLater } = await reading(server, `default?${SELECTOR}${pod}`);
      await expect.poll(() => toldOf(later, pod), PATIENCE).toEqual(events);
      expect(later).toHaveLength(2);
      stopLater();
      const warnings = await reading(server, `default?${SELECTOR}${pod},type!=Normal`);
      await expect.poll(() => warnings.shown.length, PATIENCE).toBe(name === "wf-bad" ? 1 : 0);
      warnings.stop();
    }
    expect(live.every(({ involvedObject }) => involvedObject.kind === "Pod")).toBe(true);
    expect(others.some(({ involvedObject }) => involvedObject.kind === "Pod")).toBe(false);
    stop();
    stopOthers();
  });
});
