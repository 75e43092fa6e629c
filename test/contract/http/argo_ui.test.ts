/** Pages of a folder below `/argo/`, and the API below them: over real sockets, because the request line matters. */
import { mkdir, mkdtemp, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { checkArgoUi } from "../../../src/http/argo_ui.ts";
import { serve, type Server } from "../../../src/platform/serve.ts";
import { type Instance, startInstance } from "../../support/api_server.ts";
import { tokenCallers } from "../../support/token_callers.ts";

const INDEX = '<!doctype html><base href="/"><script src="main.js"></script>';
const SCRIPT = "main.87f876132b20c2d0f2e6.js";
const WAITS = { entrypoint: "main", templates: [{ name: "main", suspend: {} }] };
const CALLERS = tokenCallers(
  ["admin"],
  `rules: [{ subjects: [admin], namespaces: ["*"], apiGroups: ["*"], resources: ["*"], verbs: ["*"] }]`,
);
const token = CALLERS.tokenOf("admin");

let outside: string;
let folder: string;
let instance: Instance;
let server: Server;
let url: string;

beforeAll(async () => {
  outside = await mkdtemp(join(tmpdir(), "sluice-pages-"));
  folder = join(outside, "app");
  await mkdir(join(folder, "assets", "..data"), { recursive: true });
  await mkdir(join(folder, ".git"));
  await writeFile(join(outside, "secret.js"), "secret");
  await writeFile(join(folder, ".git", "config"), "secret");
  await writeFile(join(folder, "index.html"), INDEX);
  await writeFile(join(folder, SCRIPT), "let a;");
  await writeFile(join(folder, "assets", "icon.svg"), "<svg/>");
  await symlink(join(outside, "secret.js"), join(folder, "link.js"));
  instance = await startInstance({
    gatekeeper: CALLERS.gatekeeper,
    settings: { authRequired: true },
    argoUiDir: folder,
    maxBodyBytes: 2_000,
    rateLimit: 1_000,
  });
  server = await serve((request, info) => instance.fetch(request, info), "127.0.0.1", 0);
  url = `http://127.0.0.1:${server.port}`;
});
afterAll(async () => {
  await instance?.stop();
  await server?.close(1_000);
  await rm(outside, { recursive: true, force: true });
});

interface Told {
  status: number;
  headers: Headers;
  text: string;
}

async function ask(path: string, init: RequestInit = {}): Promise<Told> {
  const response = await fetch(url + path, { redirect: "manual", ...init });
  return { status: response.status, headers: response.headers, text: await response.text() };
}

const asAdmin = { authorization: `Bearer ${token}` };

test("what is no file is a page: the index, with its base at the place of the pages", async () => {
  expect((await ask("/argo")).headers.get("location")).toBe("/argo/");
  expect((await ask("/argo//api/v1/../v1/x")).headers.get("location")).toBe("/argo/api/v1/x");
  for (
    const path of [
      "",
      "workflows/default/a.b",
      "assets",
      "index.html",
      "main.js",
      "%2e%2e%2fsecret.js",
    ]
  ) {
    const { status, headers, text } = await ask(`/argo/${path}`);
    expect(status, path).toBe(200);
    expect(text, path).toBe(INDEX.replace('"/"', '"/argo/"'));
    expect(headers.get("content-type")).toBe("text/html; charset=utf-8");
    expect(headers.get("cache-control")).toBe("no-cache");
    const policy = headers.get("content-security-policy");
    expect(policy).toContain("default-src 'none'; script-src 'self';");
    expect(policy).toContain("frame-ancestors 'none'");
    expect(headers.get("x-frame-options")).toBe("DENY");
  }
});

test("only the pages of widgets may be framed, and only by pages of this server", async () => {
  const { headers } = await ask("/argo/widgets/workflow-graphs/default?name=a");
  expect(headers.get("content-security-policy")).toContain("frame-ancestors 'self'");
  expect(headers.get("x-frame-options")).toBe("SAMEORIGIN");
  for (const path of ["widgets", "workflows/widgets/a", "widgets-not/a"]) {
    const other = (await ask(`/argo/${path}`)).headers;
    expect(other.get("content-security-policy"), path).toContain("frame-ancestors 'none'");
    expect(other.get("x-frame-options"), path).toBe("DENY");
  }
});

test("files come with their type; those with a hash in their name are kept for good", async () => {
  const script = await ask(`/argo/${SCRIPT}`);
  expect(script.text).toBe("let a;");
  expect(Object.fromEntries(script.headers)).toMatchObject({
    "content-type": "text/javascript; charset=utf-8",
    "content-length": "6",
    "cache-control": "public, max-age=31536000, immutable",
    "x-content-type-options": "nosniff",
  });
  const icon = await ask("/argo/assets/icon.svg");
  expect(icon.headers.get("content-type")).toMatch(/^image\/svg\+xml/);
  expect(icon.headers.get("cache-control")).toBe("no-cache");
  const etag = icon.headers.get("etag") ?? "";
  const again = await ask("/argo/assets/icon.svg", { headers: { "if-none-match": etag } });
  expect([again.status, again.text]).toEqual([304, ""]);
  const head = await ask("/argo/assets/icon.svg", { method: "HEAD" });
  expect([head.status, head.headers.get("content-length"), head.text]).toEqual([200, "6", ""]);
});

test("nothing outside of the folder is shown, and nothing that is hidden", async () => {
  const paths = ["link.js", ".git/config", "%2egit/config", "..%2fsecret.js", "%00", "%E0%A4%A"];
  for (const path of paths) {
    expect((await ask(`/argo/${path}`)).text, path).not.toContain("secret");
  }
  expect((await ask("/argo/", { method: "POST", body: "{}" })).status).toBe(404);
});

test("the API below the pages is the API: who calls, what is refused, bodies, files, streams", async () => {
  const cases: [path: string, init?: RequestInit][] = [
    ["/api/v1/version"],
    ["/api/v1/nothing", { headers: asAdmin }],
    ["/api/v1/workflows/default?listOptions.limit=x", { headers: asAdmin }],
    ["/api/v1/workflows/Default", { headers: asAdmin }],
    ["/api/v1/workflows/default", { method: "HEAD", headers: asAdmin }],
    ["/api/v1/workflows/default", { headers: { cookie: `authorization=Bearer ${token}` } }],
    ["/api/v1/workflows/default", { method: "POST", headers: asAdmin, body: "x".repeat(3_000) }],
    ["/api/v1/workflows/default", { method: "POST", body: "{}" }],
    ["/api/v1/workflows/default", {
      method: "POST",
      headers: { ...asAdmin, origin: "https://elsewhere.example" },
      body: "{}",
    }],
    ["/api/v1/stream/sensors/default?listOptions.timeoutSeconds=1", {
      headers: { ...asAdmin, accept: "text/event-stream" },
    }],
    ["/artifact-files/default/workflows/no/no/outputs/no", { headers: asAdmin }],
    ["/artifacts/default/no/no/no", { headers: asAdmin }],
    ["/input-artifacts/default/no/no/no", {}],
    ["/artifacts-by-uid/no/no/no", { headers: asAdmin }],
    ["/upload-artifacts/default/no/no", { method: "POST", headers: asAdmin, body: "x" }],
    ["/oauth2/redirect"],
  ];
  for (const [path, init] of cases) {
    const [plain, below] = [await ask(path, init), await ask(`/argo${path}`, init)];
    const headersOf = ({ headers }: Told) =>
      [...headers].filter(([name]) => !/^(date|x-request-id|x-ratelimit-.*)$/.test(name)).sort();
    expect(below.status, path).toBe(plain.status);
    expect(below.text, path).toBe(plain.text);
    expect(headersOf(below), path).toEqual(headersOf(plain));
    expect(below.headers.has("x-ratelimit-limit"), path).toBe(/^\/(api|oauth2)\//.test(path));
  }
});

test("what is changed below the pages is changed", async () => {
  const workflow = { metadata: { name: "made" }, spec: WAITS };
  const made = await ask("/argo/api/v1/workflows/default", {
    method: "POST",
    headers: { cookie: `a=b; authorization=Bearer ${token}`, origin: url },
    body: JSON.stringify({ workflow }),
  });
  expect(made.status, made.text).toBe(200);
  const suspended = await ask("/argo/api/v1/workflows/default/made/suspend", {
    method: "PUT",
    headers: { cookie: `authorization=Bearer ${token}` },
    body: "{}",
  });
  expect(suspended.status, suspended.text).toBe(200);
  const shown = await ask("/api/v1/workflows/default/made", { headers: asAdmin });
  expect(JSON.parse(shown.text)).toMatchObject({ spec: { suspend: true } });
});

test("without the setting there is nothing below /argo/", async () => {
  const plain = await startInstance({ gatekeeper: { server: true, authenticators: [] } });
  try {
    for (const path of ["/argo", "/argo/", "/argo/api/v1/version"]) {
      const response = await plain.fetch(new Request(`http://127.0.0.1${path}`));
      expect([response.status, await response.text()]).toEqual([
        404,
        '{"code":5,"message":"Not Found"}',
      ]);
    }
    const mounted = ({ method, path }: { method: string; path: string }) => `${method} ${path}`;
    const more = instance.mounted.map(mounted).filter((one) =>
      !plain.mounted.map(mounted).includes(one)
    );
    expect(more).toEqual(["GET /argo", "GET /argo/*"]);
  } finally {
    await plain.stop();
  }
});

test("a wrong folder is told at the start, with the setting and what to do", async () => {
  await expect(checkArgoUi(folder)).resolves.toBeUndefined();
  await expect(checkArgoUi(join(folder, "nothing"))).rejects.toThrow(
    /^--argo-ui-dir is ".*nothing", which is not a folder with the built pages.*ENOENT.*docs\/argo-ui\.md/,
  );
  await expect(checkArgoUi(join(folder, "assets"))).rejects.toThrow(/index\.html.*ENOENT/);
  const other = join(outside, "other");
  await mkdir(other);
  await writeFile(join(other, "index.html"), "<h1>A page</h1>");
  await expect(checkArgoUi(other)).rejects.toThrow(/has no <base>/);
});
