/**
 * The requests that the official `argo` sends in its HTTP/1 mode, byte by byte where servers trip: a question mark
 * after every path, no content type, one connection for each request, an empty last segment; and its strict decoding of
 * answers and streams. Where the client itself is available, `deno task conformance cli` plays it.
 */
import { type IncomingMessage, request as httpRequest } from "node:http";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { isJsonObject, type JsonObject } from "../../../src/base/json.ts";
import { decodeManifest, type Kind } from "../../../src/spec/schema/decode_manifest.ts";
import { startApiServer } from "../../support/api_server.ts";

const SPEC = {
  entrypoint: "main",
  templates: [
    { name: "main", steps: [[{ name: "ask", template: "gate" }]] },
    { name: "gate", suspend: {} },
  ],
};

/** A workflow as the client writes one it has read from a file: with kind, null times and an empty status. */
function written(kind: string, name: string, spec: JsonObject): JsonObject {
  return {
    kind,
    apiVersion: "argoproj.io/v1alpha1",
    metadata: { name, namespace: "n", creationTimestamp: null },
    spec,
    status: { startedAt: null, finishedAt: null },
  };
}

const AT = { startedAt: "2023-05-04T10:00:00Z" };

function seeded(name: string, phase: string, finishedAt: string | null): JsonObject {
  const common = { ...AT, boundaryID: name, templateScope: `local/${name}` };
  const isDone = finishedAt !== null;
  return {
    apiVersion: "argoproj.io/v1alpha1",
    kind: "Workflow",
    metadata: {
      name,
      namespace: "n",
      creationTimestamp: "2023-05-04T10:00:00Z",
      labels: {
        "workflows.argoproj.io/phase": phase,
        "workflows.argoproj.io/completed": String(isDone),
      },
    },
    spec: SPEC,
    status: {
      phase,
      ...AT,
      finishedAt,
      nodes: {
        [name]: {
          id: name,
          name,
          displayName: name,
          type: "Steps",
          phase,
          ...AT,
          finishedAt,
          templateName: "main",
          templateScope: `local/${name}`,
          children: [`${name}-1`],
        },
        [`${name}-1`]: {
          ...common,
          id: `${name}-1`,
          name: `${name}[0]`,
          displayName: "[0]",
          type: "StepGroup",
          phase,
          finishedAt,
          children: [`${name}-2`],
        },
        [`${name}-2`]: {
          ...common,
          id: `${name}-2`,
          name: `${name}[0].ask`,
          displayName: "ask",
          type: "Suspend",
          phase,
          finishedAt,
          templateName: "gate",
        },
      },
    },
  };
}

const SEED = [
  seeded("runs", "Running", null),
  seeded("failed", "Failed", "2023-05-04T10:05:00Z"),
  seeded("fine", "Succeeded", "2023-05-04T10:06:00Z"),
  { ...written("WorkflowTemplate", "t", SPEC), status: undefined },
  {
    ...written("ClusterWorkflowTemplate", "c", SPEC),
    metadata: { name: "c" },
    status: undefined,
  },
  written("CronWorkflow", "k", { schedules: ["0 1 * * *"], workflowSpec: SPEC }),
] as JsonObject[];

const QUERY_FIELDS = "fields=metadata%2Citems.metadata%2Citems.spec%2Citems.status.phase%2C" +
  "items.status.message%2Citems.status.finishedAt%2Citems.status.startedAt%2C" +
  "items.status.estimatedDuration%2Citems.status.progress";
const W = "/api/v1/workflows/n";

/** What each command sends, and what type of answer it needs. */
const COMMANDS: [
  command: string,
  method: string,
  path: string,
  body?: JsonObject | undefined,
  reads?: Kind,
][] = [
  [
    "submit FILE",
    "POST",
    `${W}?`,
    { namespace: "n", workflow: written("Workflow", "w", SPEC), createOptions: {} },
    "Workflow",
  ],
  [
    "submit FILE --dry-run",
    "POST",
    `${W}?`,
    {
      namespace: "n",
      workflow: written("Workflow", "w", SPEC),
      createOptions: { dryRun: ["All"] },
    },
    "Workflow",
  ],
  [
    "submit FILE --server-dry-run",
    "POST",
    `${W}?`,
    {
      namespace: "n",
      workflow: written("Workflow", "w", SPEC),
      serverDryRun: true,
      createOptions: {},
    },
    "Workflow",
  ],
  [
    "submit --from workflowtemplate/t",
    "POST",
    `${W}/submit?`,
    {
      namespace: "n",
      resourceKind: "workflowtemplate",
      resourceName: "t",
      submitOptions: { labels: "a=b", parameters: ["x=1"], entryPoint: "main" },
    },
    "Workflow",
  ],
  [
    "submit --from cronwf/k",
    "POST",
    `${W}/submit?`,
    { namespace: "n", resourceKind: "cronwf", resourceName: "k", submitOptions: {} },
    "Workflow",
  ],
  ["get runs", "GET", `${W}/runs?`, undefined, "Workflow"],
  ["get @latest", "GET", `${W}/@latest?`, undefined, "Workflow"],
  ["suspend", "PUT", `${W}/runs/suspend?`, { name: "runs", namespace: "n" }, "Workflow"],
  [
    "resume --node-field-selector",
    "PUT",
    `${W}/runs/resume?`,
    { name: "runs", namespace: "n", nodeFieldSelector: "displayName=ask" },
    "Workflow",
  ],
  [
    "stop --message",
    "PUT",
    `${W}/runs/stop?`,
    { name: "runs", namespace: "n", nodeFieldSelector: "displayName=ask", message: "no" },
    "Workflow",
  ],
  ["terminate", "PUT", `${W}/runs/terminate?`, { name: "runs", namespace: "n" }, "Workflow"],
  [
    "node set",
    "PUT",
    `${W}/runs/set?`,
    { name: "runs", namespace: "n", nodeFieldSelector: "displayName=ask", phase: "Failed" },
    "Workflow",
  ],
  ["retry", "PUT", `${W}/failed/retry?`, { name: "failed", namespace: "n" }, "Workflow"],
  [
    "retry --restart-successful",
    "PUT",
    `${W}/fine/retry?`,
    {
      name: "fine",
      namespace: "n",
      restartSuccessful: true,
      nodeFieldSelector: "displayName=ask",
      parameters: ["a=b"],
    },
    "Workflow",
  ],
  ["resubmit", "PUT", `${W}/fine/resubmit?`, { name: "fine", namespace: "n" }, "Workflow"],
  ["list", "GET", `${W}?${QUERY_FIELDS}`],
  ["list -A", "GET", `/api/v1/workflows/?${QUERY_FIELDS}`],
  [
    "list --status",
    "GET",
    `${W}?${QUERY_FIELDS}&listOptions.labelSelector=workflows.argoproj.io%2Fphase+in+%28Failed%2CError%29`,
  ],
  ["list -o json", "GET", `${W}?`],
  ["delete --force", "DELETE", `${W}/fine?force=true`],
  [
    "lint (Workflow)",
    "POST",
    `${W}/lint?`,
    { namespace: "n", workflow: written("Workflow", "w", SPEC) },
    "Workflow",
  ],
  [
    "lint (WorkflowTemplate)",
    "POST",
    "/api/v1/workflow-templates/n/lint?",
    {
      namespace: "n",
      template: { metadata: { name: "x", creationTimestamp: null }, spec: SPEC },
    },
    "WorkflowTemplate",
  ],
  [
    "lint (ClusterWorkflowTemplate)",
    "POST",
    "/api/v1/cluster-workflow-templates/lint?",
    { template: { metadata: { name: "x", creationTimestamp: null }, spec: SPEC } },
    "ClusterWorkflowTemplate",
  ],
  [
    "lint (CronWorkflow)",
    "POST",
    "/api/v1/cron-workflows/n/lint?",
    {
      namespace: "n",
      cronWorkflow: {
        metadata: { name: "x", creationTimestamp: null },
        spec: { schedules: ["* * * * *"], workflowSpec: SPEC },
        status: { active: null, lastScheduledTime: null, conditions: null },
      },
    },
    "CronWorkflow",
  ],
  ["template get", "GET", "/api/v1/workflow-templates/n/t?", undefined, "WorkflowTemplate"],
  ["template list", "GET", "/api/v1/workflow-templates/n?"],
  ["template list -A", "GET", "/api/v1/workflow-templates/?"],
  ["template delete", "DELETE", "/api/v1/workflow-templates/n/t?"],
  [
    "cluster-template get",
    "GET",
    "/api/v1/cluster-workflow-templates/c?",
    undefined,
    "ClusterWorkflowTemplate",
  ],
  ["cluster-template list", "GET", "/api/v1/cluster-workflow-templates?"],
  ["cron get", "GET", "/api/v1/cron-workflows/n/k?", undefined, "CronWorkflow"],
  ["cron list", "GET", "/api/v1/cron-workflows/n?"],
  ["cron list -A", "GET", "/api/v1/cron-workflows/?"],
  [
    "cron suspend",
    "PUT",
    "/api/v1/cron-workflows/n/k/suspend?",
    { name: "k", namespace: "n" },
    "CronWorkflow",
  ],
  [
    "cron resume",
    "PUT",
    "/api/v1/cron-workflows/n/k/resume?",
    { name: "k", namespace: "n" },
    "CronWorkflow",
  ],
  ["archive list", "GET", "/api/v1/archived-workflows?namespace=n"],
  ["archive list-label-keys", "GET", "/api/v1/archived-workflows-label-keys?"],
  [
    "archive list-label-values",
    "GET",
    "/api/v1/archived-workflows-label-values?listOptions.labelSelector=app",
  ],
  ["version", "GET", "/api/v1/version?"],
];

let server: Awaited<ReturnType<typeof startApiServer>>;

beforeAll(async () => {
  server = await startApiServer({
    gatekeeper: { server: true, authenticators: [] },
    settings: { archive: true },
  });
});
afterAll(async () => {
  await server.stop();
});

interface Answer {
  status: number | undefined;
  type: string | undefined;
  text: string;
}

/** One request as the client sends it. */
function send(
  method: string,
  path: string,
  body?: JsonObject,
  headers: Record<string, string> = {},
): Promise<Answer> {
  return new Promise((resolve, reject) => {
    open(method, path, body, headers, (response) => {
      let text = "";
      response.setEncoding("utf8");
      response.on("data", (chunk: string) => (text += chunk));
      response.on(
        "end",
        () =>
          resolve({ status: response.statusCode, type: response.headers["content-type"], text }),
      );
    }).on("error", reject);
  });
}

function open(
  method: string,
  path: string,
  body: JsonObject | undefined,
  headers: Record<string, string>,
  answer: (response: IncomingMessage) => void,
) {
  const payload = body === undefined ? undefined : JSON.stringify(body);
  const request = httpRequest({
    host: "127.0.0.1",
    port: server.server.port,
    method,
    path,
    agent: false,
    headers: {
      "user-agent": "Go-http-client/1.1",
      authorization: "Bearer local",
      ...(payload === undefined ? {} : { "content-length": Buffer.byteLength(payload) }),
      connection: "close",
      ...headers,
    },
  }, answer);
  request.end(payload);
  return request;
}

/**
 * Fails where Go's decoder would: a time that is not a time, a label that is not text, a number that is not an integer.
 */
function mustBeReadable(value: unknown, key = ""): void {
  if (Array.isArray(value)) return value.forEach((one) => mustBeReadable(one));
  if (/(At|Timestamp|Time)$/.test(key) && value !== null) {
    expect(value, key).toMatch(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)$/);
  }
  if (!isJsonObject(value)) return;
  for (const [name, inner] of Object.entries(value)) {
    if (name === "labels" || name === "annotations") {
      for (const text of Object.values(inner as JsonObject)) expect(text).toBeTypeOf("string");
    } else if (name === "estimatedDuration") expect(Number.isInteger(inner)).toBe(true);
    else if (name === "nodes") expect(isJsonObject(inner)).toBe(true);
    mustBeReadable(inner, name);
  }
}

describe("requests of the official client", () => {
  beforeEach(async () => {
    expect((await send("PUT", "/test/seed", { objects: SEED })).status).toBe(204);
  });

  test.each(COMMANDS)("%s", async (_command, method, path, body, reads) => {
    const answer = await send(method, path, body);
    expect(answer, answer.text).toMatchObject({ status: 200 });
    expect(answer.type).toMatch(/^application\/json/);
    const value = JSON.parse(answer.text) as JsonObject;
    mustBeReadable(value);
    if (reads !== undefined) {
      decodeManifest(reads, value);
      expect(value["metadata"]).toMatchObject({ name: expect.stringMatching(/./) });
    }
    if (path.includes("/workflows") && reads === "Workflow") {
      expect(value["metadata"]).toMatchObject({ namespace: "n" });
    }
  });

  test.each([
    ["template", "/api/v1/workflow-templates/n/", "t", "template"],
    ["cluster-template", "/api/v1/cluster-workflow-templates/", "c", "template"],
    ["cron", "/api/v1/cron-workflows/n/", "k", "cronWorkflow"],
  ])("%s update names the object only in the body", async (_word, path, name, member) => {
    const before = JSON.parse((await send("GET", `${path}${name}?`)).text) as {
      metadata: JsonObject;
      spec: JsonObject;
    };
    const labelled = { ...before, metadata: { ...before.metadata, labels: { a: "b" } } };
    const answer = await send("PUT", `${path}?`, { namespace: "n", [member]: labelled });
    expect(answer, answer.text).toMatchObject({ status: 200 });
    expect(JSON.parse(answer.text)).toMatchObject({ metadata: { name, labels: { a: "b" } } });
  });

  test("an error has a code and a message, before a stream too", async () => {
    const missing = await send("GET", `${W}/gone?`);
    expect(missing.status).toBe(404);
    expect(JSON.parse(missing.text)).toMatchObject({
      code: 5,
      message: 'workflows.argoproj.io "gone" not found',
    });
    const logs = await send("GET", `${W}/gone/log?logOptions.container=main`, undefined, {
      accept: "text/event-stream",
    });
    expect(JSON.parse(logs.text)).toMatchObject({ code: 5 });
  });

  test("what is done twice is told apart from what is there", async () => {
    const body = { namespace: "n", workflow: written("Workflow", "runs", SPEC), createOptions: {} };
    const answer = await send("POST", `${W}?`, body);
    expect(answer.status).toBe(409);
    expect(JSON.parse(answer.text)).toMatchObject({ code: 6 });
  });
});

/** Frames as the client reads them: it skips short lines and silently drops six bytes from the others. */
function framesIn(text: string): JsonObject[] {
  return text.split("\n").slice(0, -1).filter((line) => line.length > 5)
    .map((line) => JSON.parse(line.slice(6)) as JsonObject);
}

describe("streams of the official client", () => {
  beforeEach(async () => {
    await send("PUT", "/test/seed", { objects: SEED });
  });

  /** Reads until `enough`, then hangs up. */
  function follow(path: string, enough: (text: string) => boolean): Promise<string> {
    return new Promise((resolve, reject) => {
      const headers = { accept: "text/event-stream" };
      const request = open("GET", path, undefined, headers, (response) => {
        let text = "";
        response.setEncoding("utf8");
        const end = () => (request.destroy(), resolve(text));
        response.on("data", (chunk: string) => {
          text += chunk;
          if (enough(text)) end();
        });
        response.on("end", end);
      });
      request.on("error", reject);
    });
  }

  test("wait and watch get a workflow that is finished at once", async () => {
    const path =
      "/api/v1/workflow-events/n?listOptions.fieldSelector=metadata.name%3Dfine&listOptions.resourceVersion=0";
    const text = await follow(path, (soFar) => soFar.includes("\n\n"));
    const [first] = framesIn(text);
    expect(first).toMatchObject({
      result: { type: "ADDED", object: { status: { finishedAt: "2023-05-04T10:06:00Z" } } },
    });
    mustBeReadable(first);
  });

  test("a change arrives as a frame of its own", async () => {
    const path =
      "/api/v1/workflow-events/n?listOptions.fieldSelector=metadata.name%3Druns&listOptions.resourceVersion=0";
    let isChanged = false;
    const text = await follow(path, (soFar) => {
      if (!isChanged && soFar.includes("\n\n")) {
        isChanged = true;
        void send("PUT", `${W}/runs/suspend?`, { name: "runs", namespace: "n" });
      }
      return framesIn(soFar.slice(0, soFar.lastIndexOf("\n") + 1)).length >= 2;
    });
    expect(framesIn(text)[1]).toMatchObject({
      result: { type: "MODIFIED", object: { spec: { suspend: true } } },
    });
  });

  test("logs of a finished workflow end properly", async () => {
    const answer = await send("GET", `${W}/fine/log?logOptions.container=main`, undefined, {
      accept: "text/event-stream",
    });
    expect(answer.status).toBe(200);
    expect(framesIn(answer.text)).toEqual([]);
  });
});
