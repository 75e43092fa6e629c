import { execFileSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { createServer } from "node:http";
import type { IncomingMessage, ServerResponse } from "node:http";
import { createServer as createSecureServer } from "node:https";
import { createServer as createRawServer } from "node:net";
import type { AddressInfo, Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import process from "node:process";
import { text } from "node:stream/consumers";
import { afterAll, beforeAll, expect, test } from "vitest";
import type { Json } from "../../base/json.ts";
import { systemClock } from "../../platform/clock.ts";
import type { HttpTemplate } from "../../spec/manifest.ts";
import { ManualClock } from "../../../test/support/manual_clock.ts";
import { collectReports, shellTask, taskSpec } from "../../../test/support/task_spec.ts";
import { LATE } from "../deadline.ts";
import { HttpExecutor } from "./executor.ts";
import { RoutingExecutor } from "../routing.ts";

let base = "";
let secureBase = "";
let hits = 0;
const seenEnv: Record<string, Json>[] = [];

async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
  hits++;
  const { pathname } = new URL(request.url ?? "", "http://x");
  if (pathname === "/slow") return;
  if (pathname === "/drip") {
    const timer = setInterval(() => response.write("."), 20);
    response.once("close", () => clearInterval(timer));
    return;
  }
  if (pathname === "/endless") {
    const more = () => {
      while (response.write(Buffer.alloc(65_536)));
      response.once("drain", more);
    };
    return more();
  }
  if (pathname === "/redirect") {
    response.writeHead(302, { location: "/echo" }).end();
    return;
  }
  if (pathname === "/loop") {
    response.writeHead(307, { location: "/loop" }).end();
    return;
  }
  if (pathname === "/large") {
    response.end(Buffer.alloc(2 * 1024 * 1024));
    return;
  }
  response.statusCode = Number(/^\/status\/(\d+)/.exec(pathname)?.[1] ?? 200);
  const { method, headers } = request;
  response.end(JSON.stringify({
    method,
    body: await text(request),
    auth: headers.authorization,
    key: headers["idempotency-key"],
    own: headers["x-own"],
  }));
}

const plain = createServer((request, response) => void answer(request, response));
beforeAll(async () => {
  await new Promise<void>((resolve) => plain.listen(0, "127.0.0.1", resolve));
  base = `http://127.0.0.1:${(plain.address() as AddressInfo).port}`;
});
afterAll(() => {
  plain.closeAllConnections();
  plain.close();
});

const executor = new HttpExecutor({
  clock: systemClock,
  config: {
    configMap: () => Promise.resolve(undefined),
    secret: (_ns, name) => Promise.resolve(name === "s" ? { token: "Bearer hush" } : undefined),
  },
  evaluate(expression, env) {
    seenEnv.push(env);
    if (expression === "broken") throw new Error("unknown name broken");
    return expression === "yes";
  },
});
afterAll(() => executor.close());

let count = 0;
async function call(http: HttpTemplate, more: object = {}) {
  const reports = collectReports();
  await executor.start(taskSpec(`call${count++}`, { http }, more), reports.report);
  return await reports.ended;
}

test("a 2xx answer succeeds with the body as result", async () => {
  const outcome = await call({ url: `${base}/echo`, method: "post", body: "hello" });
  expect(outcome).toMatchObject({ phase: "Succeeded" });
  expect(outcome.outputs?.exitCode).toBeUndefined();
  expect(JSON.parse(outcome.outputs?.result ?? "")).toMatchObject({
    method: "POST",
    body: "hello",
    key: expect.stringMatching(/^uid-1\/call\d+\/1$/),
  });
});

test("another answer fails, and keeps the body", async () => {
  const outcome = await call({ url: `${base}/status/503` });
  expect(outcome).toMatchObject({
    phase: "Failed",
    message: "received non-2xx response code: 503",
    outputs: { result: expect.stringContaining("GET") },
  });
});

test("a success condition decides alone", async () => {
  expect((await call({ url: `${base}/status/404`, successCondition: "yes" })).phase).toBe(
    "Succeeded",
  );
  expect(await call({ url: `${base}/echo`, successCondition: "no" })).toMatchObject({
    phase: "Failed",
    message: "successCondition 'no' evaluated false",
  });
  expect(await call({ url: `${base}/echo`, successCondition: "broken" })).toMatchObject({
    phase: "Error",
    message: "unknown name broken",
  });
  expect(seenEnv[0]).toMatchObject({
    request: { method: "GET", url: `${base}/status/404`, body: "" },
    response: {
      statusCode: 404,
      body: expect.any(String),
      headers: { Connection: ["keep-alive"] },
    },
  });
});

test("headers come from values and Secrets", async () => {
  const secretKeyRef = { name: "s", key: "token" };
  const http = {
    url: `${base}/echo`,
    headers: [
      { name: "Authorization", valueFrom: { secretKeyRef } },
      { name: "x-own", value: "1" },
      { name: "idempotency-key", value: "mine" },
    ],
  };
  expect(JSON.parse((await call(http)).outputs?.result ?? "")).toMatchObject({
    auth: "Bearer hush",
    own: "1",
    key: "mine",
  });
  const missing = { name: "a", valueFrom: { secretKeyRef: { name: "s", key: "other" } } };
  expect(await call({ url: `${base}/echo`, headers: [missing] })).toMatchObject({
    phase: "Failed",
    message: 'Secret "s" in namespace default has no key "other" for header a',
  });
});

test("a body may come as bytes, also with GET", async () => {
  const http = { url: `${base}/echo`, bodyFrom: { bytes: btoa("bytes") } };
  expect(JSON.parse((await call(http)).outputs?.result ?? "")).toMatchObject({
    method: "GET",
    body: "bytes",
  });
});

test("redirects are followed, but not for ever", async () => {
  expect(
    JSON.parse(
      (await call({ url: `${base}/redirect`, method: "POST", body: "x" })).outputs?.result ?? "",
    ),
  )
    .toMatchObject({ method: "GET", body: "" });
  expect((await call({ url: `${base}/loop` })).message).toContain("stopped after 10 redirects");
});

test("no answer, a late one, too long a one and a wrong URL are failures that say so", async () => {
  expect(await call({ url: "http://127.0.0.1:1/x" })).toMatchObject({
    phase: "Failed",
    message: expect.stringMatching(/^Get "http:\/\/127\.0\.0\.1:1\/x": .*ECONNREFUSED/),
  });
  expect(await call({ url: `${base}/slow`, timeoutSeconds: 1 })).toEqual({
    phase: "Failed",
    message: `Get "${base}/slow": no answer within 1 seconds`,
  });
  expect((await call({ url: `${base}/large` })).message).toContain("more than 1048576 bytes");
  expect(await call({ url: "nowhere" })).toMatchObject({
    phase: "Failed",
    message: 'Get "nowhere": not a URL',
  });
  expect((await call({ url: "file:///etc/passwd" })).message).toContain(
    'unsupported protocol scheme "file"',
  );
});

test("the deadline and a cancellation end a request", async () => {
  expect(await call({ url: `${base}/slow` }, { deadline: Date.now() + 100 })).toEqual(LATE);
  const reports = collectReports();
  const task = taskSpec("cancelled", { http: { url: `${base}/slow` } });
  await executor.start(task, reports.report);
  await executor.cancel(task.id);
  await call({ url: `${base}/echo` });
  expect(reports.facts).toEqual([]);
});

test("starting twice sends once", async () => {
  const reports = collectReports();
  const task = taskSpec("twice", { http: { url: `${base}/echo` } });
  const before = hits;
  await Promise.all([executor.start(task, reports.report), executor.start(task, reports.report)]);
  await reports.ended;
  expect(hits).toBe(before + 1);
});

test("a certificate is checked unless the template says otherwise", async () => {
  const dir = mkdtempSync(join(tmpdir(), "sluice-cert-"));
  const [key, cert] = [join(dir, "key.pem"), join(dir, "cert.pem")];
  execFileSync("openssl", [
    "req",
    "-x509",
    "-newkey",
    "rsa:2048",
    "-nodes",
    "-keyout",
    key,
    "-out",
    cert,
    "-days",
    "2",
    "-subj",
    "/CN=x",
  ], { stdio: "ignore" });
  const secure = createSecureServer(
    { key: readFileSync(key), cert: readFileSync(cert) },
    (request, response) => void answer(request, response),
  );
  await new Promise<void>((resolve) => secure.listen(0, "127.0.0.1", resolve));
  secureBase = `https://127.0.0.1:${(secure.address() as AddressInfo).port}`;
  try {
    expect(await call({ url: `${secureBase}/echo` })).toMatchObject({
      phase: "Failed",
      message: expect.stringContaining("certificate"),
    });
    expect(await call({ url: `${secureBase}/echo`, insecureSkipVerify: true })).toMatchObject({
      phase: "Succeeded",
    });
  } finally {
    secure.closeAllConnections();
    secure.close();
    rmSync(dir, { recursive: true });
  }
});

test("a routing executor sends each kind to who runs it, and names who could where none does", async () => {
  const routing = new RoutingExecutor("none", [executor]);
  const reports = collectReports();
  await routing.start(taskSpec("routed", { http: { url: `${base}/echo` } }), reports.report);
  expect((await reports.ended).phase).toBe("Succeeded");
  expect(routing.refuses(taskSpec("r", { resource: { action: "get" } }))).toContain(
    "--executor kubernetes",
  );
  const refused = collectReports();
  await routing.start(shellTask("s", "true"), refused.report);
  expect(await refused.ended).toMatchObject({
    phase: "Error",
    message: expect.stringMatching(
      /^A (container|script) template can't run with --executor none; use --executor process, container or kubernetes$/,
    ),
  });
});

const NO_CONFIG = {
  configMap: () => Promise.resolve(undefined),
  secret: () => Promise.resolve(undefined),
};

/** A server that takes connections and does with them what it is told. */
async function rawServer(onConnection: (socket: Socket) => void) {
  const sockets = new Set<Socket>();
  const server = createRawServer((socket) => {
    sockets.add(socket);
    socket.on("error", () => {}).once("close", () => sockets.delete(socket));
    onConnection(socket);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    sockets,
    close() {
      for (const socket of sockets) socket.destroy();
      server.close();
    },
  };
}

test("without a timeout of its own a request has 30 s, from the connection to the last byte", async () => {
  const silent = await rawServer(() => {});
  const clock = new ManualClock();
  const own = new HttpExecutor({
    clock,
    config: NO_CONFIG,
    evaluate: () => true,
  });
  try {
    const urls = [
      `${base}/slow`,
      `${base}/drip`,
      silent.url,
      silent.url.replace("http:", "https:"),
    ];
    for (const [index, url] of urls.entries()) {
      for (const http of [{ url }, { url, timeoutSeconds: 0 }]) {
        const reports = collectReports();
        await own.start(taskSpec(`late${index}${http.timeoutSeconds}`, { http }), reports.report);
        await clock.advance(29_999);
        expect(reports.facts).toEqual([]);
        await clock.advance(1);
        expect(await reports.ended).toEqual({
          phase: "Failed",
          message: `Get "${url}": no answer within 30 seconds`,
        });
      }
    }
  } finally {
    await own.close();
    silent.close();
  }
});

test("an answer is bounded while it is read: its body, and its head", async () => {
  expect((await call({ url: `${base}/endless` })).message).toContain("more than 1048576 bytes");
  const endless = (begin: string, more: string) => (socket: Socket) => {
    socket.write(begin);
    const write = () => {
      while (!socket.destroyed && socket.write(more.repeat(1_000)));
    };
    socket.on("drain", write);
    write();
  };
  const head = "HTTP/1.1 200 OK\r\n";
  for (
    const [begin, more] of [
      [head, "a: b\r\n"],
      [`${head}a: `, "b"],
      ["HTTP/1.1 200 ", "O"],
    ] as const
  ) {
    const server = await rawServer(endless(begin, more));
    const before = process.memoryUsage().rss;
    try {
      const outcome = await call({ url: server.url, timeoutSeconds: 20 });
      expect(outcome.phase).toBe("Failed");
      expect(outcome.message).not.toMatch(/no answer within/);
      expect(process.memoryUsage().rss - before).toBeLessThan(200 * 1024 * 1024);
    } finally {
      server.close();
    }
  }
});

test("10,000 requests of one namespace that have no answer leave another one its places", async () => {
  const silent = await rawServer(() => {});
  const own = new HttpExecutor({
    clock: systemClock,
    config: NO_CONFIG,
    evaluate: () => true,
  });
  try {
    for (let index = 0; index < 10_000; index++) {
      const task = taskSpec(`hung${index}`, { http: { url: silent.url } }, { namespace: "a" });
      await own.start(task, () => {});
    }
    const reports = collectReports();
    const task = taskSpec("b", { http: { url: `${base}/echo` } }, { namespace: "b" });
    await own.start(task, reports.report);
    expect((await reports.ended).phase).toBe("Succeeded");
    await expect.poll(() => silent.sockets.size).toBe(192);
    // One that waits ends at its deadline, and not when it has its turn.
    const late = collectReports();
    const http = { url: `${base}/echo` };
    const more = { namespace: "a", deadline: Date.now() + 50 };
    await own.start(taskSpec("late", { http }, more), late.report);
    expect(await late.ended).toEqual(LATE);
  } finally {
    await own.close();
    silent.close();
  }
});
