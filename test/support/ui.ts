/** The pages on a real server in a real browser, with a network between them that a test can break. */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Locator, Page, Request } from "playwright-core";
import { type Browser, openBrowser } from "./argo_pages.ts";
import { type ServerProcess, startServer } from "./server_process.ts";
import { openTcpGate, type TcpGate } from "./tcp_gate.ts";

export interface Ui {
  /** Of the server as the browser sees it, without a slash at its end. */
  url: string;
  server: ServerProcess;
  gate: TcpGate;
  browser: Browser;
  page: Page;
  /** Opens a page by its path. */
  open(path: string): Promise<void>;
  /** Calls the API. @throws when it refuses */
  call<Answer = unknown>(method: string, path: string, body?: object): Promise<Answer>;
  /** Submits a workflow. */
  submit(name: string, spec: object, namespace?: string): Promise<void>;
  button(name: string | RegExp): Locator;
  close(): Promise<void>;
}

/**
 * @param token for calls of the test itself, where the server asks for one
 * @param prepare fills the server's folder before it starts
 */
export async function openUi(
  flags: string[] = [],
  token?: string,
  prepare: (folder: string) => Promise<void> = () => Promise.resolve(),
): Promise<Ui> {
  const folder = await mkdtemp(join(tmpdir(), "sluice-ui-"));
  await prepare(folder);
  const server = await startServer([`--store=sqlite:${folder}`, ...flags]);
  const gate = await openTcpGate(server.port);
  const browser = await openBrowser();
  const url = `http://127.0.0.1:${gate.port}`;
  const { page } = browser;
  page.setDefaultTimeout(20_000);
  async function call<Answer>(method: string, path: string, body?: object): Promise<Answer> {
    const response = await fetch(`${server.url}/api/v1/${path}`, {
      method,
      ...(body !== undefined && { body: JSON.stringify(body) }),
      ...(token !== undefined && { headers: { authorization: token } }),
    });
    const text = await response.text();
    if (!response.ok) throw new Error(`${method} ${path}: ${response.status} ${text}`);
    return JSON.parse(text) as Answer;
  }
  return {
    url,
    server,
    gate,
    browser,
    page,
    open: async (path) => void await page.goto(url + path),
    call,
    submit: async (name, spec, namespace = "default") =>
      void await call("POST", `workflows/${namespace}`, { workflow: { metadata: { name }, spec } }),
    button: (name) => page.getByRole("button", { name, exact: typeof name === "string" }),
    async close() {
      await browser.close();
      await gate.close();
      await server.kill();
      await rm(folder, { recursive: true, force: true, maxRetries: 5 });
    },
  };
}

/** Pages that are looked at side by side: while one waits for the server, the browser works for another. */
const LANES = 2;

/** Opens each path in a page of its own, and looks at it when it is settled. @throws what the look at one of them throws */
export async function visitAll(
  ui: Ui,
  paths: readonly string[],
  look: (page: Page, path: string) => Promise<void>,
): Promise<void> {
  const rest = [...paths];
  const lane = async () => {
    const page = await ui.page.context().newPage();
    await page.setViewportSize({ width: 1280, height: 900 });
    noteCalls(page);
    try {
      for (let path = rest.shift(); path !== undefined; path = rest.shift()) {
        await page.goto(ui.url + path);
        await settled(page);
        await look(page, path);
      }
    } finally {
      await page.close();
    }
  };
  await Promise.all(Array.from({ length: LANES }, lane));
}

/** Requests whose answers are on their way, by page. A stream counts until it has begun. */
const calls = new WeakMap<Page, Set<Request>>();

function noteCalls(page: Page): void {
  const open = new Set<Request>();
  calls.set(page, open);
  page.on("request", (request) => void open.add(request));
  page.on("requestfinished", (request) => void open.delete(request));
  page.on("requestfailed", (request) => void open.delete(request));
  page.on("response", (response) => {
    if (response.headers()["content-type"]?.startsWith("text/event-stream") === true) {
      open.delete(response.request());
    }
  });
}

/** Two pictures later, whatever an answer has changed is drawn, and what follows from it was asked for. */
const DRAWN = "new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))";

/** Waits until a page of `visitAll` has drawn all that it asks for. */
export async function settled(page: Page): Promise<void> {
  await page.locator("h1, .state").first().waitFor();
  for (let quiet = 0; quiet < 2;) {
    await page.evaluate(DRAWN);
    const isLoading = await page.locator(".loading").count() > 0;
    quiet = isLoading || (calls.get(page)?.size ?? 0) > 0 ? 0 : quiet + 1;
  }
}

const shell = (text: string) => ({
  container: { image: "x", command: ["sh", "-c"], args: [text] },
});

/** The asynchronous job: starts something, waits for a call about it, goes on. */
export const ASYNC_JOB = {
  entrypoint: "main",
  templates: [
    {
      name: "main",
      steps: [
        [{ name: "trigger", template: "trigger" }],
        [{
          name: "wait",
          template: "wait",
          arguments: { parameters: [{ name: "uuid", value: "{{steps.trigger.outputs.result}}" }] },
        }],
        [{ name: "finish", template: "finish" }],
      ],
    },
    { name: "trigger", ...shell("echo job-4711") },
    { name: "wait", inputs: { parameters: [{ name: "uuid" }] }, suspend: {} },
    { name: "finish", ...shell("echo finished") },
  ],
};

/** Fails with exit code 3 in its second attempt too. */
export const FAILS = {
  entrypoint: "main",
  templates: [
    {
      name: "main",
      steps: [[{ name: "fine", template: "fine" }], [{ name: "break", template: "break" }]],
    },
    { name: "fine", ...shell("true") },
    { name: "break", retryStrategy: { limit: 1 }, ...shell("echo the printer burns; exit 3") },
  ],
};

export const WAITS = { entrypoint: "main", templates: [{ name: "main", suspend: {} }] };
export const LONG = {
  entrypoint: "main",
  templates: [{ name: "main", ...shell("exec sleep 36000") }],
};
export const QUICK = { entrypoint: "main", templates: [{ name: "main", ...shell("true") }] };
