import { expect, test } from "vitest";
import { createClient } from "./client.ts";
import { ClientError } from "./transport.ts";

/** What a call says that gets this answer. */
async function failureOf(answer: () => Response): Promise<unknown> {
  const fetch = () => Promise.resolve(answer());
  const client = createClient({ server: "http://s.example", fetch });
  const input = { params: { namespace: "a", name: "w" } };
  return await client.call("WorkflowService_GetWorkflow", input).catch((error: unknown) => error);
}

test.each<[string, BodyInit, string, string]>([
  ["a page", "<html>login</html>", "text/html", 'text/html, "<html>login</html>"'],
  ["no object", "null", "application/json", 'application/json, "null"'],
])("what answers with %s is not taken for Sluice", async (_what, body, type, shown) => {
  const failure = await failureOf(() => new Response(body, { headers: { "content-type": type } }));
  expect(failure).toBeInstanceOf(ClientError);
  expect(failure).toMatchObject({
    status: 200,
    message: `http://s.example does not answer as Sluice does: ${shown}`,
  });
});

test.each([
  [{ namespace: "a", name: ".." }, "The name .. is not possible"],
  [{ namespace: ".", name: "w" }, "The namespace . is not possible"],
])(
  "a segment that a URL drops is refused, since it leads to another path: %o",
  async (params, message) => {
    let sent = 0;
    const fetch = () => Promise.resolve(Response.json({ sent: ++sent }));
    const client = createClient({ server: "http://s.example", fetch });
    const failure = await client.call("WorkflowService_DeleteWorkflow", { params })
      .catch((error: unknown) => error);
    expect(failure).toMatchObject({ name: "TypeError", message });
    expect(sent).toBe(0);
  },
);

test("a token that no header may have is refused and not shown", async () => {
  const client = createClient({ server: "http://s.example", token: "shh\nsecret" });
  const failure = await client.call("InfoService_GetInfo", {}).catch((error: unknown) => error);
  expect(failure).toBeInstanceOf(TypeError);
  expect(String(failure)).toMatch(/The token or a header has a character/);
  expect(String((failure as Error).stack)).not.toMatch(/shh|secret/);
});

test("an answer that breaks off says so, as a server that is gone does", async () => {
  const failure = await failureOf(() =>
    new Response(
      new ReadableStream({
        pull: (controller) => controller.error(new TypeError("terminated")),
      }),
    )
  );
  expect(failure).toBeInstanceOf(ClientError);
  expect(failure).toMatchObject({
    status: 0,
    message: "The answer of http://s.example broke off: terminated",
  });
});

/** A text, and then the end of the connection. */
function cutOff(text: string): Response {
  const body = new ReadableStream<Uint8Array>({
    start: (controller) => controller.enqueue(new TextEncoder().encode(text)),
    pull: (controller) => controller.error(new TypeError("terminated")),
  });
  return new Response(body);
}

const BROKEN_OFF = {
  name: "ClientError",
  status: 0,
  message: "The answer of http://s.example broke off: terminated",
};

test("a stream and a file that break off say so, too", async () => {
  const fetch = () => Promise.resolve(cutOff('{"result":{"type":"ADDED"}}\n{'));
  const client = createClient({ server: "http://s.example", fetch });
  const seen: unknown[] = [];
  await expect((async () => {
    const input = { params: { namespace: "a" } };
    for await (const one of client.stream("WorkflowService_WatchWorkflows", input)) seen.push(one);
  })()).rejects.toMatchObject(BROKEN_OFF);
  expect(seen).toEqual([{ type: "ADDED" }]);
  const file = { uid: "u", nodeId: "n", artifactName: "a" };
  const pieces: Uint8Array[] = [];
  await expect((async () => {
    const download = client.download("ArtifactService_GetOutputArtifactByUID", { params: file });
    for await (const one of download) pieces.push(one);
  })()).rejects.toMatchObject(BROKEN_OFF);
  expect(pieces.length).toBe(1);
});

test.each(["AbortError", "TimeoutError"])("who ends an answer hears that: %s", async (name) => {
  const ended = new DOMException("enough", name);
  const body = () => new ReadableStream({ pull: (controller) => controller.error(ended) });
  const fetch = () => Promise.resolve(new Response(body()));
  const client = createClient({ server: "http://s.example", fetch });
  const input = { params: { namespace: "a" } };
  await expect(client.call("WorkflowService_ListWorkflows", input)).rejects.toBe(ended);
  const stream = client.stream("WorkflowService_WatchWorkflows", input);
  await expect(stream[Symbol.asyncIterator]().next()).rejects.toBe(ended);
});

test("a page in the place of a stream is not taken for one", async () => {
  const fetch = () => Promise.resolve(new Response("<html>\nlogin\n</html>\n"));
  const client = createClient({ server: "http://s.example", fetch });
  const lines = client.stream("WorkflowService_WatchWorkflows", { params: { namespace: "a" } });
  await expect(lines[Symbol.asyncIterator]().next()).rejects.toMatchObject({
    name: "ClientError",
    status: 200,
    message: expect.stringMatching(/^http:\/\/s.example does not answer as Sluice does/),
  });
});

test("a stream that ends in the middle of a frame has broken off, so that it can be opened again", async () => {
  const text = '{"result":{"type":"ADDED"}}\n{"result":{"ty';
  const fetch = () => Promise.resolve(new Response(text));
  const client = createClient({ server: "http://s.example", fetch });
  const seen: unknown[] = [];
  const read = async () => {
    const input = { params: { namespace: "a" } };
    for await (const one of client.stream("WorkflowService_WatchWorkflows", input)) seen.push(one);
  };
  await expect(read()).rejects.toMatchObject({ name: "ClientError", status: 0 });
  expect(seen).toEqual([{ type: "ADDED" }]);
});

test("a refusal by another program is told with the server's address, on one line", async () => {
  const page = "<!DOCTYPE HTML>\n<html>\n".padEnd(500, "x");
  const init = { status: 404, statusText: "Not Found", headers: { "content-type": "text/html" } };
  expect(await failureOf(() => new Response(page, init))).toMatchObject({
    status: 404,
    message: 'http://s.example answers 404 Not Found: text/html, "<!DOCTYPE HTML>\\n<html>\\n' +
      `${"x".repeat(77)}"`,
  });
});

test("a request carries what the caller gives, and warnings of its answer are heard", async () => {
  const sent: Request[] = [];
  const warnings: string[] = [];
  const client = createClient({
    server: "http://s.example/below",
    token: "secret",
    headers: { "x-team": "a" },
    onWarning: (text) => void warnings.push(text),
    fetch: (request) => {
      sent.push(request);
      const headers = { warning: '299 - "one", 299 - "two"' };
      return Promise.resolve(new Response('{"metadata":{}}', { headers }));
    },
  });
  await client.call("WorkflowService_ListWorkflows", {
    params: { namespace: "a b/c@d" },
    query: { "listOptions.labelSelector": "a=b&c", "listOptions.limit": 2, nameFilter: undefined },
  });
  await client.callMinimal("WorkflowService_CreateWorkflow", {
    params: { namespace: "a" },
    body: { serverDryRun: true },
    idempotencyKey: "k",
  });
  const [list, create] = sent;
  expect([list?.method, list?.url]).toEqual([
    "GET",
    "http://s.example/below/api/v1/workflows/a%20b%2Fc@d" +
    "?listOptions.labelSelector=a%3Db%26c&listOptions.limit=2",
  ]);
  expect(Object.fromEntries(list?.headers ?? [])).toEqual({
    authorization: "Bearer secret",
    "x-team": "a",
  });
  expect(Object.fromEntries(create?.headers ?? [])).toMatchObject({
    "content-type": "application/json",
    "idempotency-key": "k",
    prefer: "return=minimal",
  });
  expect(await create?.json()).toEqual({ serverDryRun: true });
  expect(warnings).toEqual(["one", "two", "one", "two"]);
});

test.each<[what: string, frame: unknown, status: number]>([
  ["says", { code: 8, message: "no", http_code: 429 }, 429],
  ["does not say", { message: "no" }, 500],
])(
  "a stream whose last frame is an error that %s its status fails with it",
  async (_, error, status) => {
    // The last frame of a server has no end of line.
    const text = `{"result":{"type":"ADDED"}}\n${JSON.stringify({ error })}`;
    const client = createClient({
      server: "http://s.example",
      fetch: () => Promise.resolve(new Response(text)),
    });
    const frames = client.stream("WorkflowService_WatchWorkflows", { params: { namespace: "a" } });
    const iterator = frames[Symbol.asyncIterator]();
    expect((await iterator.next()).value).toEqual({ type: "ADDED" });
    await expect(iterator.next()).rejects.toMatchObject({
      name: "ClientError",
      message: "no",
      status,
    });
  },
);

test.each<[whole: string, said: string]>([
  ["tcp connect error: Connection refused (os error 111)", "Connection refused (os error 111)"],
  ["invalid peer certificate: UnknownIssuer", "invalid peer certificate: UnknownIssuer"],
])(
  "of %j, Deno's words about a server that can't be reached, this is said: %s",
  async (whole, said) => {
    const cause = new Error(`error sending request for url (x): client error (Connect): ${whole}`);
    const fetch = () => Promise.reject(new TypeError("fetch failed", { cause }));
    const client = createClient({ server: "https://s.example", fetch });
    await expect(client.call("InfoService_GetInfo", {})).rejects.toThrow(
      `Cannot reach https://s.example: ${said}`,
    );
  },
);
