/** How long the service expects a workflow to take, from those that have run. */
import { expect, test, vi } from "vitest";
import type { JsonObject } from "../../../../src/base/json.ts";
import { DurationEstimates } from "../../../../src/service/workflows/duration_estimates.ts";
import type { Workflow } from "../../../../src/spec/manifest.ts";
import { startInstance } from "../../../support/api_server.ts";
import { ManualClock } from "../../../support/manual_clock.ts";
import { STANDARD_NAMING } from "../../../../src/spec/naming.ts";

const PREFIX = "workflows.argoproj.io/";

function ran(name: string, label: string, minute: number, seconds: number, phase = "Succeeded") {
  const start = Date.UTC(2023, 4, 4, 10, minute);
  const text = (ms: number) => new Date(ms).toISOString().replace(".000", "");
  return {
    kind: "Workflow",
    metadata: {
      name,
      namespace: "n",
      uid: `00000000-0000-4000-8000-${name.padStart(12, "0")}`,
      creationTimestamp: text(start),
      labels: { [`${PREFIX}${label}`]: "t", [`${PREFIX}phase`]: phase },
    },
    spec: { workflowTemplateRef: { name: "t" } },
    status: { phase, startedAt: text(start), finishedAt: text(start + seconds * 1000) },
  } satisfies JsonObject;
}

function made(spec: Workflow["spec"], labels: Record<string, string> = {}): Workflow {
  return { metadata: { labels }, spec };
}

test("of() tells what the last success from the same template took", async () => {
  const instance = await startInstance({ gatekeeper: { server: true, authenticators: [] } });
  const clock = new ManualClock();
  const estimates = new DurationEstimates(instance.service.store, clock, STANDARD_NAMING);
  await instance.seed([
    ran("1", "workflow-template", 1, 100),
    ran("2", "workflow-template", 5, 42),
    ran("3", "workflow-template", 9, 7, "Failed"),
    ran("5", "cron-workflow", 3, 9),
  ]);
  const byTemplate = made({ workflowTemplateRef: { name: "t" } });
  const byCluster = made({ workflowTemplateRef: { name: "t", clusterScope: true } });
  expect(await estimates.of("n", byTemplate)).toBe(42);
  expect(await estimates.of("other", byTemplate)).toBeUndefined();
  expect(await estimates.of("n", byCluster)).toBeUndefined();
  expect(await estimates.of("n", made({}, { [`${PREFIX}cron-workflow`]: "t" }))).toBe(9);
  expect(await estimates.of("n", made({ entrypoint: "main" }))).toBeUndefined();

  // What is known is used for a minute; what is unknown is asked for again after ten seconds.
  await instance.seed([
    ran("6", "workflow-template", 20, 5),
    ran("4", "cluster-workflow-template", 3, 8),
  ]);
  expect(await estimates.of("n", byTemplate)).toBe(42);
  expect(await estimates.of("n", byCluster)).toBeUndefined();
  await clock.advance(10_000);
  expect(await estimates.of("n", byTemplate)).toBe(42);
  expect(await estimates.of("n", byCluster)).toBe(8);
  await clock.advance(50_000);
  expect(await estimates.of("n", byTemplate)).toBe(5);
  await instance.stop();
});

test("a workflow shows its estimate, unless that is less than half a second", async () => {
  const instance = await startInstance({
    gatekeeper: { server: true, authenticators: [] },
    executors: [],
  });
  const call = async (path: string, body?: JsonObject) => {
    const init = body === undefined ? {} : { method: "POST", body: JSON.stringify(body) };
    const answer = await instance.fetch(new Request(`http://localhost/api/v1/${path}`, init));
    expect(answer.status).toBe(200);
    return await answer.json() as Workflow;
  };
  const spec = { entrypoint: "main", templates: [{ name: "main", suspend: {} }] };
  await call("workflow-templates/n", { template: { metadata: { name: "t" }, spec } });
  await call("cluster-workflow-templates", { template: { metadata: { name: "t" }, spec } });
  await instance.seed([
    ran("1", "workflow-template", 1, 12),
    ran("2", "cluster-workflow-template", 1, 0),
  ]);
  const shown = async (resourceKind: string) => {
    const { metadata } = await call("workflows/n/submit", { resourceKind, resourceName: "t" });
    return await vi.waitFor(async () => {
      const { status } = await call(`workflows/n/${metadata.name}`);
      expect(status?.phase).toBe("Running");
      return status;
    });
  };
  expect(await shown("WorkflowTemplate")).toMatchObject({ estimatedDuration: 12 });
  expect(await shown("ClusterWorkflowTemplate")).not.toHaveProperty("estimatedDuration");
  await instance.stop();
});
