/** The pages as they are sent: the shell and its policy, scripts and their size, login and logout. */
import { gunzipSync } from "node:zlib";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { PAGES } from "../../../src/ui/app/paths.ts";
import { PAGE_POLICY } from "../../../src/ui/pages.ts";
import { type Instance, startInstance } from "../../support/api_server.ts";
import { tokenCallers } from "../../support/token_callers.ts";

/** What may be loaded before list or details can be used, bytes as sent. */
const SCRIPT_BUDGET = 150 * 1024;
const CALLERS = tokenCallers(
  ["ada"],
  `rules: [{ subjects: [ada], namespaces: ["*"], resources: ["*"], verbs: ["*"] }]`,
);
const token = CALLERS.tokenOf("ada");

let instance: Instance;
const ask = async (path: string, init: RequestInit = {}) =>
  await instance.fetch(new Request(`http://127.0.0.1${path}`, init));

beforeAll(async () => {
  instance = await startInstance({
    gatekeeper: CALLERS.gatekeeper,
  });
});
afterAll(() => instance.stop());

describe("the shell", () => {
  test.each(PAGES.map(({ path, title }) => [path, title]))(
    "%s needs no login and has nothing written into it as code or style",
    async (path, title) => {
      const response = await ask(path.replace(":namespace", "default").replace(":name", "a"));
      const text = await response.text();
      expect(response.status).toBe(200);
      expect(response.headers.get("content-security-policy")).toBe(PAGE_POLICY);
      expect(text).toContain(`<title>${title} · Sluice</title>`);
      expect(text).not.toMatch(/<script(?![^>]* src=)|<style|\sstyle=|\son[a-z]+=/);
    },
  );

  test("its addresses are relative, so that it works below the prefix of a proxy", async () => {
    const text = await (await ask("/workflows/default/a")).text();
    const addresses = [...text.matchAll(/(?:href|src|data-[a-z]+)="([^"]*)"/g)].map(([, at]) => at);
    const outside = addresses.filter((at) =>
      !/^(\.\.\/\.\.\/|#page$|token$|system$)/.test(at ?? "")
    );
    expect(outside).toEqual([]);
  });

  test.each([
    ["/workflows", "./"],
    ["/workflows/", "../"],
    ["/workflows?namespace=a&limit=50", "./?namespace=a"],
    ["/workflows/team-a", "../?namespace=team-a"],
    ["/workflows/a%26b/", "../../?namespace=a%26b"],
  ])("the shortened address %s leads to the list", async (path, list) => {
    const response = await ask(path);
    expect([response.status, response.headers.get("location")]).toEqual([302, list]);
  });

  test("what a path holds is not markup", async () => {
    const response = await ask("/workflows/default/%3Cscript%3Ealert(1)%3C%2Fscript%3E");
    const text = await response.text();
    expect(text).not.toContain("<script>alert");
    // Only the address that the browser asks for the workflow has it, as the visitor's browser has sent it.
    expect(text.split("alert(1)")).toHaveLength(2);
    expect(text).toContain(
      `href="../../api/v1/workflows/default/%3Cscript%3Ealert(1)%3C%2Fscript%3E?exactTimes=true"`,
    );
    const quoted = await ask("/workflows/default/'%22&<>");
    expect(await quoted.text()).not.toMatch(/default\/[^"]*['<>]/);
  });

  test("the visitor's colours come with the first answer", async () => {
    const text = async (cookie: string) => await (await ask("/", { headers: { cookie } })).text();
    expect(await text("sluice-theme=dark")).toContain('data-theme="dark"');
    expect(await text('sluice-theme="><b>')).toContain('data-theme="system"');
  });
});

describe("scripts and styles", () => {
  test("are kept for good, sent compressed, and within the budget", async () => {
    const text = await (await ask("/")).text();
    const names = [...text.matchAll(/(?:modulepreload" href|module" src)="\.\/([^"]+)"/g)];
    let sum = 0;
    for (const [, name] of names) {
      const response = await ask(`/${name}`, { headers: { "accept-encoding": "gzip, br" } });
      const body = new Uint8Array(await response.arrayBuffer());
      expect(response.headers.get("cache-control")).toContain("immutable");
      expect(response.headers.get("content-encoding")).toBe("gzip");
      const plain = await (await ask(`/${name}`)).text();
      expect(gunzipSync(body).toString()).toBe(plain);
      sum += body.length;
    }
    expect(names.length).toBeGreaterThan(0);
    expect(sum).toBeLessThan(SCRIPT_BUDGET);
  });

  test("other names are not found", async () => {
    for (const name of ["app.js", "index.json", "..%2f..%2fpackage.json"]) {
      expect((await ask(`/ui/assets/${name}`)).status).toBe(404);
    }
  });
});

describe("login", () => {
  const login = (given: string, headers: Record<string, string> = {}) =>
    ask("/login", {
      method: "POST",
      headers: { "content-type": "application/json", ...headers },
      body: JSON.stringify({ token: given }),
    });

  test("puts the token where scripts and other sites can't use it, and logout takes it away", async () => {
    const response = await login(token);
    expect(response.status).toBe(200);
    const cookie = response.headers.get("set-cookie") ?? "";
    expect(cookie).toMatch(/^authorization=[^;]+; HttpOnly; SameSite=Strict$/);
    const [pair = ""] = cookie.split(";");
    const user = await ask("/api/v1/userinfo", { headers: { cookie: pair } });
    expect(await user.json()).toMatchObject({ subject: "ada" });
    const out = await ask("/logout", { method: "POST", headers: { cookie: pair } });
    expect(out.headers.get("set-cookie")).toMatch(/^authorization=; Max-Age=0; HttpOnly/);
  });

  test("is refused where nobody has to log in, and the page says so", async () => {
    const open = await startInstance({ gatekeeper: { server: true, authenticators: [] } });
    try {
      const response = await open.fetch(
        new Request("http://127.0.0.1/login", {
          method: "POST",
          headers: { "content-type": "application/json" },
          body: JSON.stringify({ token }),
        }),
      );
      expect(response.status).toBe(400);
      expect(response.headers.get("set-cookie")).toBeNull();
      expect(await response.json()).toMatchObject({
        message: expect.stringContaining("asks nobody to log in"),
      });
      const page = await open.fetch(new Request("http://127.0.0.1/login"));
      expect(await page.text()).toMatch(/<html[^>]*data-login="none"/);
      expect(await (await ask("/login")).text()).toContain('data-login="token"');
    } finally {
      await open.stop();
    }
  });

  test("the cookie stays on encrypted connections where there are any", async () => {
    const response = await login(token, { "x-forwarded-proto": "https" });
    expect(response.headers.get("set-cookie")).toMatch(/; Secure$/);
  });

  test("refuses wrong tokens, forms, and pages of other sites", async () => {
    expect((await login("sluice_wrong")).status).toBe(401);
    expect((await login("a;b\nc")).status).toBe(400);
    expect((await login("x".repeat(10_000))).status).toBe(400);
    const asText = await login(token, { "content-type": "text/plain" });
    expect(asText.status).toBe(400);
    const foreign = await login(token, { origin: "https://evil.example", host: "127.0.0.1" });
    expect(foreign.status).toBe(403);
    expect(foreign.headers.get("set-cookie")).toBeNull();
  });
});
