/** The package's exports: their examples run, and the client has every operation of the description with its path. */
import { readFileSync } from "node:fs";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { createClient } from "../../src/client/client.ts";
import { OPERATIONS } from "../../src/client/operations.ts";
import { ClientError } from "../../src/client/transport.ts";
import * as sluice from "../../src/mod.ts";
import { startServer } from "../../src/server.ts";
import { OPERATIONS_FILE, operationsFile } from "../../tools/client_operations.ts";
import { startApiServer } from "../support/api_server.ts";

const SOURCE = ["mod.ts", "server.ts"].map((name) =>
  readFileSync(new URL(`../../src/${name}`, import.meta.url), "utf8")
).join("\n");
const PAGE = readFileSync(new URL("../../docs/clients.md", import.meta.url), "utf8");
const SERVER = "http://127.0.0.1:2746";

let running: Awaited<ReturnType<typeof startApiServer>>;
let url: string;
beforeAll(async () => {
  running = await startApiServer({ gatekeeper: { server: true, authenticators: [] } });
  url = `http://127.0.0.1:${running.server.port}`;
});
afterAll(() => running.stop());

describe("the examples of mod.ts, server.ts and docs/clients.md", () => {
  const examples = [
    ...[...SOURCE.matchAll(/^ \* ```ts\n([^]*?)^ \* ```$/gm)].map(([, block = ""]) =>
      block.replaceAll(/^ \* ?/gm, "")
    ),
    ...[...PAGE.matchAll(/^```ts\n([^]*?)^```$/gm)].map(([, block = ""]) => block),
  ];
  it("are found", () => expect(examples.length).toBe(7));

  it.each(examples)("example %#", async (example) => {
    const body = example
      .replace(/^import (\{[^}]*\}) from "sluice";$/m, "const $1 = sluice;")
      .replace(/^import .* from "sluice\/server";$/m, "const { startServer } = inside;")
      .replaceAll(SERVER, url);
    expect(body).toContain("= sluice;");
    const AsyncFunction = (async () => {}).constructor as new (
      ...args: string[]
    ) => (library: typeof sluice, inside: { startServer: typeof startServer }) => Promise<void>;
    await new AsyncFunction("sluice", "inside", body)(sluice, { startServer });
  });
});

describe("the client", () => {
  it("is generated from the declared routes as they are", () => {
    expect(readFileSync(OPERATIONS_FILE, "utf8")).toBe(operationsFile());
  });

  it("has the operations of /openapi.json, no more and no fewer", async () => {
    const description = await (await fetch(`${url}/openapi.json`)).json() as {
      paths: Record<string, Record<string, { operationId: string }>>;
    };
    const described = Object.entries(description.paths).flatMap(([path, methods]) =>
      Object.entries(methods).map(([method, { operationId }]) =>
        `${operationId} ${method.toUpperCase()} ${path}`
      )
    );
    const known = Object.entries(OPERATIONS).map(([name, { method, path }]) =>
      `${name} ${method} ${path}`
    );
    expect(known.sort()).toEqual(described.sort());
    expect(known.length).toBeGreaterThan(60);
  });

  it("creates, lists page by page, reads and deletes", async () => {
    const client = createClient({ server: url });
    const params = { namespace: "client" };
    for (const name of ["one", "two"]) {
      const spec = { entrypoint: "main", templates: [{ name: "main", suspend: {} }] };
      const body = { workflow: { metadata: { name }, spec } };
      const made = await client.call("WorkflowService_CreateWorkflow", { params, body });
      expect(made.metadata.name).toBe(name);
    }
    const first = await client.call("WorkflowService_ListWorkflows", {
      params,
      query: { "listOptions.limit": 1 },
    });
    const next = await client.call("WorkflowService_ListWorkflows", {
      params,
      query: { "listOptions.limit": 1, "listOptions.continue": first.metadata.continue },
    });
    const names = [first, next].flatMap(({ items }) => items ?? []).map((w) => w.metadata.name);
    expect(names.sort()).toEqual(["one", "two"]);
    const one = { ...params, name: "one" };
    await client.call("WorkflowService_DeleteWorkflow", { params: one });
    await expect(client.call("WorkflowService_GetWorkflow", { params: one })).rejects
      .toMatchObject({ name: "ClientError", status: 404 });
  });

  it("tells refusals of streams and servers that are not there", async () => {
    const client = createClient({ server: url });
    const frames = client.stream("WorkflowService_WorkflowLogs", {
      params: { namespace: "client", name: "nobody" },
    });
    await expect(frames[Symbol.asyncIterator]().next()).rejects.toThrow(ClientError);
    const nowhere = createClient({ server: "http://127.0.0.1:1" });
    await expect(nowhere.call("InfoService_GetVersion", {})).rejects.toMatchObject({
      status: 0,
      message: expect.stringContaining("Cannot reach http://127.0.0.1:1"),
    });
  });

  it("sends token, headers, idempotency key and encoded parts", async () => {
    const seen: Request[] = [];
    const client = createClient({
      server: "http://server",
      token: "abc",
      headers: { "x-team": "blue" },
      fetch: (request) => {
        seen.push(request);
        return Promise.resolve(Response.json({}));
      },
    });
    await client.call("EventService_ReceiveEvent", {
      params: { namespace: "a/b", discriminator: "@latest" },
      query: { dryRun: true },
      body: [1],
      idempotencyKey: "k",
    });
    const [request] = seen;
    expect(request?.url).toBe("http://server/api/v1/events/a%2Fb/@latest?dryRun=true");
    expect(await request?.json()).toEqual([1]);
    expect(Object.fromEntries(request?.headers ?? [])).toMatchObject({
      authorization: "Bearer abc",
      "x-team": "blue",
      "idempotency-key": "k",
      "content-type": "application/json",
    });
  });
});
