/** Callback URLs as browsers, programs and strangers use them: no other credential, no effect of a look, bounds before reading. */
import { createHash } from "node:crypto";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { Problem, ProblemCode } from "../../../src/base/problem.ts";
import type { Caller } from "../../../src/auth/port.ts";
import type { GatekeeperOptions } from "../../../src/auth/gatekeeper.ts";
import { type Instance, startInstance } from "../../support/api_server.ts";

const PUBLIC = "https://sluice.example.com/prefix";
/** Everybody must prove who they are: `all` may do everything, `read` may only get. */
const GATEKEEPER: GatekeeperOptions = {
  server: false,
  authenticators: [{
    authenticate(credential) {
      const word = credential?.split(" ")[1] ?? "";
      if (word !== "all" && word !== "read") {
        return Promise.reject(new Problem(ProblemCode.Unauthenticated, "Unauthorized"));
      }
      const caller: Caller = {
        identity: { subject: word },
        may: ({ verb }) => Promise.resolve(word === "all" || verb === "get"),
      };
      return Promise.resolve(caller);
    },
  }],
};

let instance: Instance;
let count = 0;
beforeAll(async () => {
  instance = await startInstance({
    gatekeeper: GATEKEEPER,
    settings: { authRequired: true },
    executors: [],
    publicUrl: PUBLIC,
    rateLimit: 1_000_000,
  });
});
afterAll(() => instance.stop());

function ask(method: string, path: string, init: RequestInit = {}): Promise<Response> {
  const url = `http://127.0.0.1${path}`;
  return Promise.resolve(instance.fetch(new Request(url, { method, ...init })));
}

async function api(method: string, path: string, body?: unknown, as = "all") {
  const response = await ask(method, `/api/v1/workflows/default${path}`, {
    headers: { authorization: `Bearer ${as}` },
    ...(body !== undefined && { body: JSON.stringify(body) }),
  });
  return { status: response.status, body: await response.json() as Record<string, unknown> };
}

interface Item {
  name: string;
  resume: string;
  stop: string;
  heartbeat: string;
  token: string;
  expiresAt: string;
}

/** A workflow with a step that waits and one that will. */
async function waiting(): Promise<string> {
  const name = `w${count++}`;
  const workflow = {
    metadata: { name },
    spec: {
      entrypoint: "main",
      templates: [
        {
          name: "main",
          steps: [[{ name: "gate", template: "plain" }], [{ name: "wait", template: "wait" }]],
        },
        { name: "plain", suspend: {} },
        {
          name: "wait",
          suspend: { callback: { expires: "2h" } },
          outputs: { parameters: [{ name: "o", valueFrom: { supplied: {}, default: "-" } }] },
        },
      ],
    },
  };
  expect((await api("POST", "", { workflow })).status).toBe(200);
  await expect.poll(() => phaseOf(name, "gate")).toBe("Running");
  return name;
}

async function phaseOf(name: string, step: string): Promise<string | undefined> {
  const { body } = await api("GET", `/${name}`);
  const { nodes = {} } = body["status"] as { nodes?: Record<string, Record<string, string>> };
  return Object.values(nodes).find(({ displayName }) => displayName === step)?.["phase"];
}

async function urls(name: string, step: string, rest = {}): Promise<Item> {
  const { body } = await api("POST", `/${name}/callbacks`, {
    nodeFieldSelector: `displayName=${step}`,
    ...rest,
  });
  const [item] = body["items"] as Item[];
  return item as Item;
}

/** The path below the prefix, as a proxy sends it on. */
const pathOf = (url: string) => url.slice(PUBLIC.length);

describe("made by REST", () => {
  test("they are for steps that wait and steps that will, for as long as asked", async () => {
    const name = await waiting();
    const gate = await urls(name, "gate", { expires: "1h" });
    const wait = await urls(name, "wait");
    expect([gate.name, wait.name]).toEqual([`${name}[0].gate`, `${name}[1].wait`]);
    expect(gate.resume).toMatch(/^https:\/\/sluice\.example\.com\/prefix\/callback\/resume\/cb1\./);
    const hours = (item: Item) => Math.round((Date.parse(item.expiresAt) - Date.now()) / 3.6e6);
    expect([hours(gate), hours(wait)]).toEqual([1, 2]);
    expect((await ask("POST", pathOf(wait.resume), { body: `{"outputs":{"o":"early"}}` })).status)
      .toBe(200);
    expect((await ask("POST", `/callback/resume/${gate.token}`)).status).toBe(200);
    await expect.poll(() => phaseOf(name, name)).toBe("Succeeded");
  });

  test("they need the rights of a resume, a step that is there, and a time within bounds", async () => {
    const name = await waiting();
    const make = (body: object, as?: string) => api("POST", `/${name}/callbacks`, body, as);
    const gate = { nodeFieldSelector: "displayName=gate" };
    expect((await make(gate, "read")).status).toBe(403);
    expect((await make({})).status).toBe(400);
    expect((await make({ nodeFieldSelector: "displayName=none" })).status).toBe(404);
    expect(await make({ ...gate, expires: "9601h" })).toMatchObject({
      status: 400,
      body: { message: "expires: 9601h is not between 1s and 9600h" },
    });
  });
});

describe("used", () => {
  test("a page shows what it does; only its form does it, without a credential", async () => {
    const name = await waiting();
    const path = pathOf((await urls(name, "gate")).resume);
    const page = await ask("GET", path, { headers: { accept: "text/html" } });
    expect(page.status).toBe(200);
    const html = await page.text();
    const policy = page.headers.get("content-security-policy");
    expect(policy).toContain("default-src 'none'");
    expect(policy).not.toContain("unsafe");
    const style = /<style>(.*?)<\/style>/s.exec(html)?.[1] ?? "";
    expect(policy).toContain(`'sha256-${createHash("sha256").update(style).digest("base64")}'`);
    expect(html).toContain(`<form method="post"><button>Continue the workflow</button></form>`);
    expect(html).not.toContain("<script");
    expect((await ask("HEAD", path)).status).toBe(200);
    expect(await phaseOf(name, "gate")).toBe("Running");
    const sent = await ask("POST", path, {
      headers: {
        accept: "text/html,*/*",
        "content-type": "application/x-www-form-urlencoded",
        origin: "null",
      },
      body: "",
    });
    expect([sent.status, await sent.text()]).toEqual([200, expect.stringContaining("is resumed")]);
    expect(await phaseOf(name, "gate")).toBe("Succeeded");
  });

  test("pages of any origin may send it, and nothing else", async () => {
    const name = await waiting();
    const path = pathOf((await urls(name, "gate")).stop);
    const origin = "https://jobs.example.com";
    const preflight = (to: string) =>
      ask("OPTIONS", to, { headers: { origin, "access-control-request-method": "POST" } });
    const allowed = await preflight(path);
    expect([allowed.status, allowed.headers.get("access-control-allow-origin")]).toEqual([
      204,
      "*",
    ]);
    expect((await preflight(`/api/v1/workflows/default`)).status).not.toBe(204);
    const sent = await ask("POST", path, { headers: { origin }, body: `{"message":"no"}` });
    expect([sent.status, sent.headers.get("access-control-allow-origin")]).toEqual([200, "*"]);
    expect(await phaseOf(name, "gate")).toBe("Failed");
  });

  test("whatever is wrong with a token has one answer, before the body is read", async () => {
    const name = await waiting();
    const { resume, stop } = await urls(name, "gate");
    const token = resume.split("/").at(-1) ?? "";
    const stopToken = stop.split("/").at(-1) ?? "";
    const wrong = [
      "x",
      "cb1.00000000.e30.".padEnd(60, "A"),
      stopToken,
      token.slice(0, -1) + (token.endsWith("A") ? "B" : "A"),
      "x".repeat(6_000),
    ];
    const answers = new Set<string>();
    for (const one of wrong) {
      for (const method of ["GET", "POST"]) {
        const response = await ask(method, `/callback/resume/${one}`, {
          ...(method === "POST" && { body: "no JSON" }),
        });
        answers.add(`${method} ${response.status} ${await response.text()}`);
      }
    }
    expect([...answers].map((text) => text.slice(0, 8)).sort()).toEqual(["GET 404 ", "POST 404"]);
    expect(await phaseOf(name, "gate")).toBe("Running");
  });

  test("a body has bounds and must fit", async () => {
    const name = await waiting();
    const path = pathOf((await urls(name, "gate")).resume);
    const send = async (body: string) => (await ask("POST", path, { body })).status;
    expect(await send(`{"outputs":{"o":"${"x".repeat(2 ** 18)}"}}`)).toBe(413);
    expect(await send("no JSON")).toBe(400);
    expect(await send(`{"outputs":[1]}`)).toBe(400);
    expect(await send(`{"outputs":{"o":"x"}}`)).toBe(400);
    expect(await phaseOf(name, "gate")).toBe("Running");
    expect(await send("")).toBe(200);
  });

  test("strangers that guess are held back", async () => {
    const limited = await startInstance({ gatekeeper: GATEKEEPER, rateLimit: 3, executors: [] });
    const statuses: number[] = [];
    for (let at = 0; at < 8; at++) {
      const request = new Request("http://127.0.0.1/callback/stop/x", { method: "POST" });
      statuses.push((await limited.fetch(request)).status);
    }
    await limited.stop();
    expect(statuses).toContain(429);
  });
});

test("keys are rotated by those who run the service, and no key is shown", async () => {
  const name = await waiting();
  const path = pathOf((await urls(name, "gate")).resume);
  const keys = async (method: string, body?: unknown, as = "all") => {
    const response = await ask(method, "/api/v1/callback-keys", {
      headers: { authorization: `Bearer ${as}` },
      ...(body !== undefined && { body: JSON.stringify(body) }),
    });
    return { status: response.status, body: await response.json() as Record<string, unknown> };
  };
  expect((await keys("POST", {}, "read")).status).toBe(403);
  expect(await keys("GET")).toMatchObject({ status: 200, body: { items: [{ signs: true }] } });
  for (const acceptEarlier of ["soon", "-1s", "9601h"]) {
    const { status, body } = await keys("POST", { acceptEarlier });
    expect([status, body["message"]]).toEqual([400, expect.stringContaining("acceptEarlier: ")]);
  }
  const made = await keys("POST", { acceptEarlier: "1h" });
  expect(made).toMatchObject({
    status: 200,
    body: { items: [{ signs: true }, { signs: false }] },
  });
  expect(Object.keys((made.body["items"] as object[])[1] ?? {})).toEqual([
    "id",
    "signs",
    "signsFrom",
  ]);
  expect(await keys("POST", {})).toMatchObject({ status: 409 });
  expect((await ask("GET", path)).status).toBe(200);
});
