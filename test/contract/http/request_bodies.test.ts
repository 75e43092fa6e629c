/**
 * What bodies may cost: who may send one, how much of them is held, how much is decoded, and where large ones are
 * checked.
 */
import { createHmac, randomBytes } from "node:crypto";
import { once } from "node:events";
import { connect, type Socket } from "node:net";
import process from "node:process";
import { gzipSync } from "node:zlib";
import { afterEach, describe, expect, test } from "vitest";
import { powerlessCaller, unrestrictedCaller } from "../../../src/auth/caller.ts";
import type { Authenticator } from "../../../src/auth/port.ts";
import { ROUTES } from "../../../src/http/routes/all.ts";
import { WEBHOOK_SECRET } from "../../../src/spec/naming.ts";
import { ManifestKind } from "../../../src/spec/manifest.ts";
import { type ApiServerOptions, startApiServer, startInstance } from "../../support/api_server.ts";
import { until } from "../../support/until.ts";

type Instance = Awaited<ReturnType<typeof startInstance>>;

/** `Bearer NAME` is NAME, who may do everything. */
const named: Authenticator = {
  authenticate: (credential) => {
    const [, subject] = /^Bearer (\w+)$/.exec(credential ?? "") ?? [];
    if (subject === undefined || subject === "wrong") return Promise.resolve(undefined);
    return Promise.resolve(
      subject === "nobody" ? powerlessCaller({ subject }) : unrestrictedCaller({ subject }),
    );
  },
};
const TOKENS: ApiServerOptions = {
  gatekeeper: { server: false, authenticators: [named] },
  callerOf: unrestrictedCaller,
  settings: { authRequired: true },
};
const OPEN: ApiServerOptions = { gatekeeper: { server: true, authenticators: [] } };

const ends: (() => unknown)[] = [];
afterEach(async () => {
  for (const end of ends.splice(0).reverse()) await end();
});

async function start(options: ApiServerOptions): Promise<Instance> {
  const instance = await startInstance(options);
  ends.push(() => instance.stop());
  return instance;
}

const SECRET = "shh";
const sign = (body: string) => createHmac("sha256", SECRET).update(body).digest("hex");
const putSender = ({ service }: Instance) =>
  service.store.manifests.put({
    kind: ManifestKind.Secret,
    namespace: "default",
    name: WEBHOOK_SECRET,
    text: JSON.stringify({ stringData: { robot: `{type: hmac, secret: ${SECRET}}` } }),
    labels: {},
  }, "*");

interface Stalled {
  request: Request;
  go: (rest: string) => void;
  isRead: () => boolean;
  isStalled: () => boolean;
}

/** A request whose body yields `pieces`, and then nothing more until `go` is called. */
function stalled(
  path: string,
  headers: Record<string, string>,
  { length, pieces = [] }: { length?: number; pieces?: string[] } = {},
): Stalled {
  let isRead = false;
  let isStalled = false;
  const rest = Promise.withResolvers<string>();
  const bytes = (text: string) => new TextEncoder().encode(text);
  const left = [...pieces];
  const body = new ReadableStream<Uint8Array>({
    async pull(to) {
      isRead = true;
      const next = left.shift();
      if (next !== undefined) return to.enqueue(bytes(next));
      isStalled = true;
      to.enqueue(bytes(await rest.promise));
      to.close();
    },
  }, { highWaterMark: 0 });
  const request = new Request(`http://localhost${path}`, {
    method: "POST",
    headers: { ...headers, ...(length === undefined ? {} : { "content-length": String(length) }) },
    body,
    duplex: "half",
  } as RequestInit);
  return { request, go: rest.resolve, isRead: () => isRead, isStalled: () => isStalled };
}

/** Waits until the server has read what there is of these bodies. */
const haveStalled = (open: readonly Stalled[]) =>
  until(() => open.every(({ isStalled }) => isStalled()));

const EVENT = "/api/v1/events/default/x";
const CREATE = "/api/v1/workflows/default";
const as = (name: string) => ({ authorization: `Bearer ${name}` });

describe("who may send a body", () => {
  const HOSTILE: Record<string, Record<string, string>> = {
    "no token": {},
    "a wrong token": as("wrong"),
    "a wrong cookie": { cookie: "authorization=Bearer%20wrong" },
    "a cookie of something else": { cookie: "session=1" },
    "a signature that no sender of the namespace makes": { "x-hub-signature-256": "sha256=00" },
    "a credential besides a signature": { ...as("wrong"), "x-signature": "00" },
    "a cookie besides a signature": { cookie: "authorization=wrong", "x-signature": "00" },
  };

  test.each(Object.entries(HOSTILE))("an event with %s is refused unread", async (_, headers) => {
    const instance = await start(TOKENS);
    await putSender(instance);
    for (const length of [undefined, 2 ** 20]) {
      const { request, isRead } = stalled(EVENT, headers, length === undefined ? {} : { length });
      const { status } = await instance.fetch(request);
      expect(status).toBe(401);
      expect(isRead()).toBe(false);
    }
  });

  test("an event with a signature is read, and taken when it is right", async () => {
    const instance = await start(TOKENS);
    await putSender(instance);
    const text = '{"n":1}';
    for (const [signature, expected] of [[sign(text), 200], [sign("other"), 401]] as const) {
      const { request, go, isRead } = stalled(EVENT, { "x-signature": signature });
      const answer = instance.fetch(request);
      go(text);
      expect((await answer).status).toBe(expected);
      expect(isRead()).toBe(true);
    }
  });

  test("a cookie that names a caller is a credential for events, as for all else", async () => {
    const instance = await start(TOKENS);
    const post = async (cookie: string) => {
      const request = new Request(`http://localhost${EVENT}`, {
        method: "POST",
        headers: { cookie },
        body: "{}",
      });
      return (await instance.fetch(request)).status;
    };
    expect(await post("authorization=Bearer%20ann")).toBe(200);
    expect(await post("authorization=Bearer%20nobody")).toBe(403);
    expect(await post("authorization=Bearer%20wrong")).toBe(401);
  });

  test("on the wire too: the answer comes although the body never does", async () => {
    const { server, stop } = await startApiServer(TOKENS);
    ends.push(stop);
    const head = "Host: localhost\r\nConnection: close\r\n";
    for (const framing of ["Content-Length: 16000000", "Transfer-Encoding: chunked"]) {
      for (const path of [CREATE, EVENT, "/api/v1/workflow-templates/default"]) {
        const socket: Socket = connect(server.port, "127.0.0.1");
        ends.push(() => socket.destroy());
        let text = "";
        const answered = new Promise<void>((resolve) =>
          socket.on("data", (data) => {
            text += data;
            resolve();
          })
        );
        await once(socket, "connect");
        socket.write(`POST ${path} HTTP/1.1\r\n${head}${framing}\r\n\r\n`);
        await answered;
        expect(text).toMatch(/^HTTP\/1\.1 40[13]/);
      }
    }
  });
});

describe("what bodies hold at a time", () => {
  const MIB = 2 ** 20;
  /** 64 MiB in total: 32 for each caller; 16 for webhook senders, 4 for each address. */
  const limits = { maxBodyBytes: 16 * MIB, maxBodiesBytes: 64 * MIB };
  const retryOf = (answer: Response) => [answer.status, answer.headers.get("retry-after")];

  test("stalled bodies of one caller leave room for others", async () => {
    const instance = await start({ ...TOKENS, ...limits });
    const open = [1, 2].map(() => stalled(CREATE, as("ann"), { length: 16 * MIB }));
    const answers = open.map(({ request }) => instance.fetch(request));
    await haveStalled(open);
    const more = () => instance.fetch(stalled(CREATE, as("ann"), { length: 1_000 }).request);
    expect(retryOf(await more())).toEqual([429, "1"]);
    const post = async (name: string) => {
      const request = new Request(`http://localhost${CREATE}`, {
        method: "POST",
        headers: { ...as(name), "content-length": "2" },
        body: "{}",
      });
      return (await instance.fetch(request)).status;
    };
    // A body without a workflow in it.
    expect(await post("bob")).toBe(400);
    for (const { go } of open) go("{}");
    await Promise.all(answers);
    expect(await post("ann")).toBe(400);
  });

  test("all callers together hold no more than all", async () => {
    const instance = await start({ ...TOKENS, ...limits });
    const open = ["ann", "ann", "bob", "bob"].map((name) =>
      stalled(CREATE, as(name), { length: 16 * MIB })
    );
    const answers = open.map(({ request }) => instance.fetch(request));
    await haveStalled(open);
    const { request } = stalled(CREATE, as("eve"), { length: 10 });
    expect(retryOf(await instance.fetch(request))).toEqual([503, "1"]);
    for (const { go } of open) go("{}");
    expect((await Promise.all(answers)).map(({ status }) => status)).toEqual([400, 400, 400, 400]);
  });

  test("where nobody is asked who it is, all are one, and bounded too", async () => {
    const instance = await start({ ...OPEN, ...limits });
    // Invented names give nobody more space.
    const open = ["a", "b", "c", "d"].map((name) =>
      stalled(CREATE, as(`x.${btoa(`{"sub":"${name}"}`)}.y`), { length: 16 * MIB })
    );
    const answers = open.map(({ request }) => instance.fetch(request));
    await haveStalled(open);
    const { request } = stalled(EVENT, {}, { length: 10 });
    expect(retryOf(await instance.fetch(request))).toEqual([503, "1"]);
    for (const { go } of open) go("{}");
    await Promise.all(answers);
  });

  test("a chunked body counts as it comes", async () => {
    const instance = await start({ ...TOKENS, ...limits });
    const chunk = "x".repeat(MIB);
    const pieces = Array.from({ length: 15 }, () => chunk);
    const open = [1, 2].map(() => stalled(CREATE, as("ann"), { pieces }));
    const answers = open.map(({ request }) => instance.fetch(request));
    await haveStalled(open);
    const { request } = stalled(CREATE, as("ann"), { pieces: [chunk, chunk, chunk] });
    expect(retryOf(await instance.fetch(request))).toEqual([429, "1"]);
    for (const { go } of open) go("");
    await Promise.all(answers);
  });

  test("senders that have proved nothing yet have a share of their own, each address a part of it", async () => {
    const instance = await start({ ...TOKENS, ...limits });
    await putSender(instance);
    const send = (address: string, length: number) => {
      const one = stalled(EVENT, { "x-signature": "00" }, { length });
      return { ...one, answer: instance.fetch(one.request, { remoteAddr: { hostname: address } }) };
    };
    const open = ["a", "b", "c", "d"].flatMap((address) =>
      Array.from({ length: 4 }, () => send(address, MIB))
    );
    await haveStalled(open);
    expect(retryOf(await send("a", 10).answer)).toEqual([429, "1"]);
    expect(retryOf(await send("e", 10).answer)).toEqual([429, "1"]);
    // Callers with a valid credential don't notice.
    const own = new Request(`http://localhost${EVENT}`, {
      method: "POST",
      headers: as("ann"),
      body: "{}",
    });
    expect((await instance.fetch(own)).status).toBe(200);
    for (const { go } of open) go("{}");
    for (const { answer } of open) expect((await answer).status).toBe(401);
    const late = send("e", MIB);
    late.go("{}");
    expect((await late.answer).status).toBe(401);
  });
});

describe("what is decoded", () => {
  const MANY = 1_200_000;
  const FORMS: Record<string, string> = {
    "empty templates": `{"workflow":{"spec":{"templates":[${"{},".repeat(MANY)}{}]}}}`,
    "lists": `[${"[],".repeat(MANY / 8)}1]`,
    "members": `{${Array.from({ length: MANY / 4 }, (_, index) => `"${index}":0`).join(",")}}`,
    "labels": `{"workflow":{"metadata":{"labels":{${
      Array.from({ length: MANY / 4 }, (_, index) => `"a${index}":""`).join(",")
    }}}}}`,
    "the same member": `{"template":{${'"a":[],'.repeat(MANY / 4)}"a":1}}`,
    "no JSON": "[,".repeat(MANY),
  };
  const TAKING = ROUTES.filter(({ body }) => body !== undefined);

  test.each(Object.entries(FORMS))(
    "%s by the hundred thousand are refused on every route, at little cost",
    async (_, text) => {
      const instance = await start(OPEN);
      for (const route of TAKING) {
        const path = route.path.replaceAll(/\{(\w+)\}/g, "x");
        const body = route.body === "json" ? text.slice(0, 2 ** 20) : text;
        const before = process.cpuUsage();
        const answer = await instance.fetch(
          new Request(`http://localhost${path}`, { method: route.method, body }),
        );
        const { user, system } = process.cpuUsage(before);
        // Nobody has this token: its body is not read.
        const refused = path.startsWith("/callback/") ? 404 : 413;
        expect(answer.status, `${path}: ${await answer.text()}`).toBe(refused);
        expect((user + system) / 1000, path).toBeLessThan(1_000);
      }
    },
  );

  test("what people really have is taken", async () => {
    const instance = await start(OPEN);
    const task = (index: number) => ({
      name: `task-${index}`,
      template: "work",
      ...(index === 0 ? {} : { depends: `task-${(index - 1) >> 1}.Succeeded` }),
      arguments: {
        parameters: [{ name: "a", value: `${index}` }, { name: "b", value: "{{workflow.name}}" }],
      },
    });
    const spec = {
      entrypoint: "main",
      templates: [
        {
          name: "work",
          inputs: { parameters: [{ name: "a" }, { name: "b" }] },
          container: { image: "x", command: ["sh", "-c", "{{inputs.parameters.a}}"] },
        },
        { name: "main", dag: { tasks: Array.from({ length: 10_000 }, (_, index) => task(index)) } },
      ],
    };
    const template = JSON.stringify({ template: { metadata: { name: "large" }, spec } });
    expect(template.length).toBeGreaterThan(1_400_000);
    const created = await instance.fetch(
      new Request("http://localhost/api/v1/workflow-templates/default", {
        method: "POST",
        body: template,
      }),
    );
    expect(created.status).toBe(200);
    await created.body?.cancel();
  });
});

test("large manifests are checked on a thread, small ones at once", async () => {
  const instance = await start(OPEN);
  const { checks } = instance.service;
  let asked = 0;
  const run = checks?.run.bind(checks);
  if (checks !== undefined && run !== undefined) {
    checks.run = (text) => {
      asked++;
      return run(text);
    };
  }
  const spec = (count: number) => ({
    entrypoint: "main",
    templates: [
      { name: "wait", suspend: {} },
      {
        name: "main",
        steps: Array.from({ length: count }, (_, index) => [{
          name: `s${index}`,
          template: "wait",
        }]),
      },
    ],
  });
  const workflow = (count: number) => ({
    workflow: { metadata: { generateName: "x-" }, spec: spec(count) },
  });
  const template = (count: number) => ({
    template: { metadata: { generateName: "x-" }, spec: spec(count) },
  });
  const cron = (count: number) => ({
    cronWorkflow: {
      metadata: { name: `c${count}` },
      spec: { schedules: ["0 0 1 1 *"], workflowSpec: spec(count) },
    },
  });
  const WAYS: [path: string, body: (count: number) => object][] = [
    ["workflows/default", workflow],
    ["workflows/default", (count) => ({ ...workflow(count), serverDryRun: true })],
    ["workflows/default", (count) => ({ ...workflow(count), createOptions: { dryRun: ["All"] } })],
    ["workflows/default/lint", workflow],
    ["workflow-templates/default", template],
    ["workflow-templates/default/lint", template],
    ["cluster-workflow-templates", template],
    ["cluster-workflow-templates/lint", template],
    ["cron-workflows/default", cron],
    ["cron-workflows/default/lint", cron],
  ];
  for (const [path, body] of WAYS) {
    for (const [count, expected] of [[10, 0], [4_000, 1]] as const) {
      asked = 0;
      const answer = await instance.fetch(
        new Request(`http://localhost/api/v1/${path}`, {
          method: "POST",
          body: JSON.stringify(body(count)),
        }),
      );
      expect([path, answer.status, asked]).toEqual([path, 200, expected]);
      await answer.body?.cancel();
    }
  }
});

describe("namespaces in paths", () => {
  const WRONG = [
    "a%0ab",
    "A",
    "a_b",
    "a.b",
    "-a",
    "a-",
    "a%20b",
    "%00",
    "%C3%A9",
    "x".repeat(64),
    "a%22",
  ];
  test.each(ROUTES.filter(({ path }) => path.includes("{namespace}")))(
    "$method $path takes no other names",
    async ({ method, path }) => {
      const instance = await start(TOKENS);
      for (const namespace of WRONG) {
        const url = path.replace("{namespace}", namespace).replaceAll(/\{\w+\}/g, "x");
        const answer = await instance.fetch(
          new Request(`http://localhost${url}`, {
            method,
            headers: as("ann"),
            ...(method === "GET" || method === "DELETE" ? {} : { body: "{}" }),
          }),
        );
        expect([namespace, answer.status]).toEqual([namespace, 400]);
        expect(await answer.text()).toContain("can't be a namespace");
      }
    },
  );
});

test("a packed body is refused with 415, one that only says so is taken", async () => {
  const instance = await start(OPEN);
  const body = JSON.stringify({ a: 1 });
  // What cannot be packed much stays long, and is decoded in turns.
  const long = JSON.stringify({ a: randomBytes(60_000).toString("base64") });
  const cases = ["/api/v1/events/default/x", "/api/v1/workflows/default/lint"].flatMap((path) =>
    [body, long].map((text) => ({ path, text }))
  );
  for (const { path, text } of cases) {
    const headers = { "content-encoding": "gzip", "content-type": "application/json" };
    const request = new Request(`http://localhost${path}`, {
      method: "POST",
      body: gzipSync(text),
      headers,
    });
    const response = await instance.fetch(request);
    expect([path, response.status]).toEqual([path, 415]);
    expect(response.headers.get("accept-encoding")).toBe("identity");
    expect(await response.json()).toEqual({
      code: 3,
      message: "the body has Content-Encoding: gzip; send it as it is, without one",
    });
  }
  const headers = { "content-encoding": "gzip" };
  const request = new Request("http://localhost/api/v1/events/default/x", {
    method: "POST",
    body,
    headers,
  });
  expect((await instance.fetch(request)).status).toBe(200);
});

test("a body that was sent as a form is refused with what to change, and JSON of that type is taken", async () => {
  const instance = await start(OPEN);
  const post = (body: string) =>
    instance.fetch(
      new Request("http://localhost/api/v1/events/default/x", {
        method: "POST",
        body,
        headers: { "content-type": "application/x-www-form-urlencoded" },
      }),
    );
  const form = await post("payload=%7B%22ref%22%3A1%7D");
  expect(form.status).toBe(400);
  expect((await form.json()).message).toMatch(
    /^the body is not JSON: line 1, column 1: .*; the body is a form \(application\/x-www-form-urlencoded\); let its sender use the content type application\/json$/,
  );
  // What curl sends unless it is told otherwise.
  expect((await post('{"ref": 1}')).status).toBe(200);
  expect((await (await post('{"ref": ')).json()).message).not.toContain("form");
});
