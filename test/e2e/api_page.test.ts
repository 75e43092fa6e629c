/** The page to try the API, in a browser: it works under its policy, loads nothing from elsewhere, and shows streams. */
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { Locator } from "playwright-core";
import { startApiServer } from "../support/api_server.ts";
import { type Browser, browserMissing, openBrowser } from "../support/argo_pages.ts";

const missing = browserMissing();

describe.skipIf(missing !== undefined)(
  `the page at /apidocs${missing ? `: ${missing}` : ""}`,
  () => {
    let running: Awaited<ReturnType<typeof startApiServer>>;
    let browser: Browser;
    let url: string;
    const asked = new Set<string>();

    beforeAll(async () => {
      running = await startApiServer({ gatekeeper: { server: true, authenticators: [] } });
      url = `http://127.0.0.1:${running.server.port}`;
      browser = await openBrowser();
      browser.page.on("request", (request) => asked.add(new URL(request.url()).origin));
      await browser.page.goto(`${url}/apidocs`);
    });
    afterAll(async () => {
      await browser.close();
      await running.stop();
    });

    /** The form of an operation, opened, with the namespace filled in. */
    async function form(method: string, path: string): Promise<Locator> {
      const box = browser.page.locator("details").filter({
        has: browser.page.locator("summary", { hasText: method }).locator("code", {
          hasText: new RegExp(`^${path.replaceAll(/[{}]/g, "\\$&")}$`),
        }),
      });
      await box.locator("summary").click();
      await box.locator("label", { hasText: "namespace" }).first().locator("input").fill("default");
      return box;
    }

    const send = (box: Locator) => box.getByRole("button", { name: "Send" }).click();
    const shows = (box: Locator, text: RegExp) =>
      expect.poll(() => box.locator("pre").innerText(), { timeout: 30_000 }).toMatch(text);

    test("sends what a form holds and shows the answer, and a stream as it comes", async () => {
      const watch = await form("GET", "/api/v1/workflow-events/{namespace}");
      await send(watch);
      const create = await form("POST", "/api/v1/workflows/{namespace}");
      const spec = { entrypoint: "wait", templates: [{ name: "wait", suspend: {} }] };
      await create.locator("textarea").fill(
        JSON.stringify({ workflow: { metadata: { name: "tried" }, spec } }),
      );
      await send(create);
      await shows(
        create,
        /^POST \/api\/v1\/workflows\/default\n200 OK\n\n\{\n {2}"metadata": \{\n/,
      );
      // The stream goes on: what it has sent so far is shown.
      await shows(watch, /"type":"ADDED".*"name":"tried"/);
      const refused = await form("GET", "/api/v1/workflows/{namespace}/{name}");
      await refused.locator("label", { hasText: /^name$/ }).locator("input").fill("none");
      await send(refused);
      await shows(refused, /404 Not Found[^]*workflows\.argoproj\.io \\"none\\" not found/);
    });

    test("breaks no policy and asks nobody else", () => {
      expect(browser.troubles()).toEqual(["404 GET /api/v1/workflows/default/none"]);
      expect([...asked]).toEqual([url]);
    });
  },
);
