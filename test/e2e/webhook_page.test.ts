/** The examples of docs/webhooks.md, each carried out: with a real server, a real receiver, and the programs that the page shows. */
import { readFileSync } from "node:fs";
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { createServer, type IncomingHttpHeaders } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { pathToFileURL } from "node:url";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { parseConfig } from "../../src/platform/config.ts";
import { decodeAny } from "../../src/spec/schema/decode_manifest.ts";
import { parseDocuments } from "../../src/spec/parse.ts";
import { validateSubscription } from "../../src/spec/validation/subscription.ts";
import { call } from "../support/event_ledger.ts";
import { type ServerProcess, startServer } from "../support/server_process.ts";
import { runCommand, runSluice } from "../support/sluice_cli.ts";

const PAGE = readFileSync(join(import.meta.dirname, "../../docs/webhooks.md"), "utf8");
const SECRET = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";

/** Code of a language, in the order of the page. */
function blocks(language: string): string[] {
  const found = PAGE.matchAll(/^```(\w+)\n([\s\S]*?)^```$/gm);
  return [...found].filter(([, name]) => name === language).map(([, , code = ""]) => code);
}

interface Got {
  headers: IncomingHttpHeaders;
  body: string;
}

const got: Got[] = [];
let status = 200;
const receiver = createServer(async (request, response) => {
  got.push({ headers: request.headers, body: await text(request) });
  response.writeHead(status).end();
});
let dir = "";
let server: ServerProcess;

async function submit(name: string, spec: object): Promise<void> {
  const workflow = { metadata: { name, labels: { team: "data" } }, spec };
  const answer = await call(server.url, "POST", "/api/v1/workflows/default", { workflow });
  expect(answer.status, JSON.stringify(answer.body)).toBe(200);
}

const FAILS = {
  entrypoint: "main",
  templates: [{ name: "main", steps: [[{ name: "a", template: "missing-host" }]] }, {
    name: "missing-host",
    http: { url: "http://127.0.0.1:1/" },
  }],
};

const typesOf = (all: Got[]) => all.map(({ body }) => JSON.parse(body).type);

beforeAll(async () => {
  await new Promise<void>((resolve) => receiver.listen(0, "127.0.0.1", resolve));
  const { port } = receiver.address() as AddressInfo;
  dir = await mkdtemp(join(tmpdir(), "sluice-webhook-page-"));
  const manifests = join(dir, "manifests");
  await mkdir(manifests);
  const [first = ""] = blocks("yaml");
  const own = first.replace("https://hooks.example.com/sluice", `http://127.0.0.1:${port}/`)
    // Long enough for a delivery, short enough for a dead letter.
    .replace("changes: [Failed, NodeFailed]", "changes: [Failed, NodeFailed]\n  retryFor: 2s");
  expect(own).toContain("retryFor");
  await writeFile(join(manifests, "first.yaml"), own);
  server = await startServer([
    `--store=sqlite:${join(dir, "store")}`,
    `--manifests=${manifests}`,
    "--executor=none",
    "--webhook-allow=127.0.0.1",
  ]);
}, 120_000);

afterAll(async () => {
  await server?.kill();
  receiver.closeAllConnections();
  receiver.close();
  await rm(dir, { recursive: true, force: true, maxRetries: 5 });
});

test("the subscription of the page hears of a failure", async () => {
  await submit("etl", FAILS);
  await expect.poll(() => typesOf(got), { timeout: 20_000 }).toEqual([
    "node.failed",
    "workflow.failed",
  ]);
});

test("the manifests are valid", () => {
  const kinds = blocks("yaml").flatMap((one) => parseDocuments(one)).map(({ value }) => {
    const any = decodeAny(value);
    if (any.kind === "Subscription") validateSubscription(any.manifest);
    return any.kind;
  });
  expect(kinds).toEqual(["Secret", "Subscription", "Subscription"]);
});

test("a body has the members that the page shows", () => {
  const shown = JSON.parse(blocks("json")[0] ?? "");
  const sent = JSON.parse(got[1]?.body ?? "");
  expect(Object.keys(sent)).toEqual(Object.keys(shown));
  expect(Object.keys(sent.data)).toEqual(Object.keys(shown.data));
  expect(Object.keys(sent.data.workflow).sort()).toEqual(Object.keys(shown.data.workflow).sort());
  expect(sent.data).toMatchObject({ change: "Failed", workflow: { name: "etl", phase: "Failed" } });
});

describe("a signature is checked by the program in", () => {
  test("JavaScript", async () => {
    // In the folder of the packages, so that it finds the library.
    const folder = await mkdtemp(join(import.meta.dirname, "../../node_modules/.page-"));
    try {
      const file = join(folder, "open.mjs");
      await writeFile(file, blocks("js")[0] ?? "");
      const { open } = await import(pathToFileURL(file).href);
      const { headers, body } = got[0] as Got;
      expect(open(headers, body, SECRET)).toMatchObject({ type: "node.failed" });
      expect(() => open(headers, `${body} `, SECRET)).toThrow(/No matching signature/);
    } finally {
      await rm(folder, { recursive: true });
    }
  });

  test("Python", async () => {
    const { headers, body } = got[0] as Got;
    const file = join(dir, "check.py");
    const lines = "import json, sys\nh, b, s = json.loads(sys.argv[1])\n" +
      "print(is_genuine(h, b.encode(), s), is_genuine(h, b.encode() + b' ', s))\n";
    await writeFile(file, `${blocks("python")[0]}\n${lines}`);
    const { out, err } = await runCommand("python3", [
      file,
      JSON.stringify([headers, body, SECRET]),
    ]);
    expect(out.trim(), err).toBe("True False");
  });

  test("a shell", async () => {
    const { headers, body } = got[0] as Got;
    await writeFile(join(dir, "body.json"), body);
    const code = blocks("sh").find((one) => one.includes("openssl")) ?? "";
    const { out, err } = await runCommand("sh", ["-c", code], {
      cwd: dir,
      env: {
        SECRET,
        ID: String(headers["webhook-id"]),
        TIMESTAMP: String(headers["webhook-timestamp"]),
      },
    });
    expect(`v1,${out.trim()}`, err).toBe(headers["webhook-signature"]);
  });
});

test("dead letters are listed and replayed by the commands", async () => {
  status = 500;
  got.length = 0;
  await submit("dead", FAILS);
  const commands = (blocks("sh").find((one) => one.includes("webhook list")) ?? "").trim()
    .split("\n").map((one) => one.split(" ").slice(1));
  const sluice = (args: string[]) => runSluice(["--server", server.url, ...args]);
  const [list = [], replay = []] = commands;
  await expect.poll(async () => (await sluice(list)).out, { timeout: 40_000, interval: 500 })
    .toMatch(/(msg_\w+ .*dead .*the receiver answered 500[^]*){2}/);
  const ids = new Set(got.map(({ headers }) => headers["webhook-id"]));
  status = 200;
  got.length = 0;
  const { out } = await sluice(replay);
  expect(out.trim()).toBe("2 replayed");
  await expect.poll(() => typesOf(got), { timeout: 20_000 }).toEqual([
    "node.failed",
    "workflow.failed",
  ]);
  expect(new Set(got.map(({ headers }) => headers["webhook-id"]))).toEqual(ids);
  expect((await sluice(list)).out).not.toContain("msg_");
  const doctor = (await sluice(["doctor"])).out;
  expect(doctor).toContain("subscriptions: 1 subscription can be signed");
}, 120_000);

test("the setting of the page is one that the server takes, and a wrong one it refuses", () => {
  const line = blocks("sh").find((one) => one.includes("--webhook-allow"))?.trim() ?? "";
  const [, , ...flags] = line.split(" ");
  expect(parseConfig(flags, {}).webhookAllow).toBe("10.20.0.0/16,hooks.internal");
  expect(() => parseConfig(["--webhook-allow", "10.0.0.0/99"], {})).toThrow(
    /--webhook-allow: "10.0.0.0\/99" is not an address/,
  );
});

test("a subscription hears of callback URLs as marks, and of events that failed for good", async () => {
  const { port } = receiver.address() as AddressInfo;
  const subscription = {
    metadata: { name: "rest" },
    spec: {
      url: `http://127.0.0.1:${port}/`,
      changes: ["NodeFailed", "DeadLetter"],
      format: "cloudevents-binary",
      secret: { name: "hooks", key: "signing" },
    },
  };
  const made = await call(server.url, "POST", "/api/v1/subscriptions/default", { subscription });
  expect(made.status, JSON.stringify(made.body)).toBe(200);
  got.length = 0;
  const value = "{{steps.wait.callback.resume}}";
  await submit("marks", {
    entrypoint: "main",
    templates: [
      {
        name: "main",
        steps: [[{
          name: "trigger",
          template: "trigger",
          arguments: { parameters: [{ name: "url", value }] },
        }], [{ name: "wait", template: "wait" }]],
      },
      {
        name: "trigger",
        inputs: { parameters: [{ name: "url" }] },
        http: { url: "http://127.0.0.1:1/", body: "{{inputs.parameters.url}}" },
      },
      { name: "wait", suspend: { callback: {} } },
    ],
  });
  const binding = {
    metadata: { name: "broken" },
    spec: { event: { selector: "true" }, submit: { workflowTemplateRef: { name: "nowhere" } } },
  };
  const path = "/api/v1/workflow-event-bindings/default";
  await call(server.url, "POST", path, { binding });
  await call(server.url, "POST", "/api/v1/events/default/push", { n: 1 });
  const ofRest = () => got.filter(({ headers }) => headers["ce-type"] !== undefined);
  await expect.poll(() => ofRest().map(({ headers }) => headers["ce-type"]).sort(), {
    timeout: 30_000,
  }).toEqual(["argoproj.io.event.dead-letter", "argoproj.io.node.failed"]);
  const all = got.map(({ body }) => body).join();
  expect(all).toContain("callback:resume(");
  expect(all).not.toMatch(/\/callbacks?\/|token=/);
  expect(all).toContain("nowhere");
});
