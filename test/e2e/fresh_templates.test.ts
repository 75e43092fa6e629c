/** Two servers on a Redis: a template that was changed through one of them is used by the next submission to the other. */
import { afterAll, beforeAll, expect, test } from "vitest";
import { call } from "../support/event_ledger.ts";
import { startRedisServer } from "../support/redis_server.ts";
import { type ServerProcess, startServer } from "../support/server_process.ts";

const ROUNDS = 40;
const AT_ONCE = 6;
const TEMPLATES = "/api/v1/workflow-templates/default";
const WORKFLOWS = "/api/v1/workflows/default";

const cleanUp: (() => unknown)[] = [];
let servers: [ServerProcess, ServerProcess];

beforeAll(async () => {
  const redis = await startRedisServer();
  cleanUp.push(() => redis.stop());
  const flags = [`--store=${redis.url}`];
  servers = await Promise.all([startServer(flags), startServer(flags)]);
  for (const server of servers) cleanUp.push(() => server.kill());
});
afterAll(async () => {
  for (const run of cleanUp.splice(0).reverse()) await run();
});

async function send(server: ServerProcess, method: string, path: string, body?: object) {
  const { status, body: answer } = await call(server.url, method, path, body);
  return { status, answer: answer as Record<string, unknown> };
}

function templateOf(value: number, resourceVersion?: unknown) {
  return {
    metadata: { name: "job", ...(resourceVersion !== undefined && { resourceVersion }) },
    spec: {
      entrypoint: "main",
      arguments: { parameters: [{ name: "value", value: String(value) }] },
      templates: [{ name: "main", inputs: { parameters: [{ name: "value" }] }, suspend: {} }],
    },
  };
}

function submit(server: ServerProcess) {
  return send(server, "POST", `${WORKFLOWS}/submit`, {
    resourceKind: "WorkflowTemplate",
    resourceName: "job",
  });
}

/** Submits, and gives the value of the template that the workflow has used. */
async function valueOf(server: ServerProcess): Promise<number> {
  const { status, answer } = await submit(server);
  expect(status).toBe(200);
  const { name } = answer["metadata"] as { name: string };
  const stored = await send(server, "GET", `${WORKFLOWS}/${name}`);
  const [, value] = /"name":"value","value":"(\d+)"/.exec(JSON.stringify(stored.answer)) ?? [];
  return Number(value);
}

test("what was stored before a submission is what it uses", async () => {
  const [one, two] = servers;
  let made = await send(one, "POST", TEMPLATES, { template: templateOf(0) });
  expect(made.status).toBe(200);
  for (let round = 1; round <= ROUNDS; round++) {
    const [writer, reader] = round % 2 === 0 ? [one, two] : [two, one];
    const before = Array.from({ length: AT_ONCE }, () => valueOf(reader));
    const { resourceVersion } = made.answer["metadata"] as { resourceVersion: string };
    made = await send(writer, "PUT", `${TEMPLATES}/job`, {
      template: templateOf(round, resourceVersion),
    });
    expect(made.status).toBe(200);
    const after = await Promise.all(Array.from({ length: AT_ONCE }, () => valueOf(reader)));
    expect(after).toEqual(after.map(() => round));
    for (const value of await Promise.all(before)) expect([round - 1, round]).toContain(value);
  }
  const { status } = await send(two, "DELETE", `${TEMPLATES}/job`);
  expect(status).toBe(200);
  expect((await submit(one)).status).toBe(404);
}, 120_000);
