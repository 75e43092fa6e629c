/** Pages that change while somebody looks, and pages without data, with errors, and with a network that breaks. */
import { once } from "node:events";
import { createServer, request } from "node:http";
import type { AddressInfo } from "node:net";
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import { browserMissing } from "../../support/argo_pages.ts";
import { openUi, QUICK, type Ui, WAITS } from "../../support/ui.ts";

const missing = browserMissing();
/** Each page, the calls of the API that it needs, and its words when there is nothing. */
const PAGES = [
  { path: "/", api: /\/api\/v1\/workflows\/\?/, none: "No workflows yet" },
  { path: "/waiting", api: /\/api\/v1\/workflows\/\?/, none: "Nobody has to do anything" },
  {
    path: "/submit",
    api: /\/api\/v1\/workflow-templates\//,
    none: "No templates in this namespace.",
  },
  {
    path: "/workflows/default/none",
    api: /\/api\/v1\/workflows\/default\/none/,
    none: "It is not there",
  },
];

describe.skipIf(missing !== undefined)(
  `pages in every state${missing ? ` (skipped: ${missing})` : ""}`,
  () => {
    let ui: Ui;
    const shows = (text: string | RegExp) => ui.page.getByText(text).first().waitFor();
    const link = (name: string) => ui.page.getByRole("link", { name, exact: true });
    const row = (name: string) => ui.page.getByRole("row").filter({ has: link(name) });

    beforeAll(async () => {
      ui = await openUi();
    });
    afterAll(() => ui?.close());
    afterEach(() => void ui.browser.troubles());

    test.each(PAGES)("$path without data says what to do next", async ({ path, none }) => {
      await ui.open(path);
      await shows(none);
      expect(ui.browser.troubles().filter((one) => !one.startsWith("404"))).toEqual([]);
    });

    test.each(PAGES)(
      "$path with an error of the API shows it, and tries again",
      async ({ path, api, none }) => {
        await ui.page.route(
          api,
          (route) =>
            route.fulfill({ status: 500, json: { code: 13, message: "the disk is on fire" } }),
        );
        await ui.open(path);
        await shows("the disk is on fire");
        await ui.page.unroute(api);
        await ui.button("Try again").click();
        await shows(none);
      },
    );

    test.each(PAGES)(
      "$path without a connection says so, and fills itself when it is back",
      async ({ path, none }) => {
        await ui.open("/login");
        await ui.page.getByLabel("Token").waitFor();
        ui.gate.refuse();
        await ui.page.evaluate(
          `history.pushState(null, "", ${JSON.stringify(path)});` +
            `dispatchEvent(new PopStateEvent("popstate"))`,
        );
        await shows("The server cannot be reached");
        ui.gate.heal();
        await shows(none);
      },
    );

    test("the list follows what happens, without a reload", async () => {
      await ui.open("/");
      await shows("No workflows yet");
      await ui.submit("seen", WAITS);
      await row("seen").getByText("Running").waitFor();
      await ui.call("PUT", "workflows/default/seen/resume", {});
      await row("seen").getByText("Succeeded").waitFor();
      await ui.call("DELETE", "workflows/default/seen");
      await shows("No workflows yet");
    });

    test("a lost connection is told; what happened meanwhile comes when it is back", async () => {
      await ui.submit("before", WAITS);
      await ui.open("/");
      await link("before").waitFor();
      ui.gate.refuse();
      await shows(/Connection lost/);
      await ui.submit("meanwhile", QUICK);
      await ui.call("PUT", "workflows/default/before/resume", {});
      ui.gate.heal();
      await link("meanwhile").waitFor();
      await row("before").getByText("Succeeded").waitFor();
      await shows(/Connected again/);
      await ui.open("/workflows/default/meanwhile");
      await ui.page.locator(".headline .phase", { hasText: "Succeeded" }).waitFor();
      ui.gate.refuse();
      await shows(/Connection lost/);
      await ui.call("DELETE", "workflows/default/meanwhile");
      ui.gate.heal();
      await shows("This workflow was deleted.");
    });

    test("filters stand in the address, and survive a reload and the way back", async () => {
      await ui.submit("one", QUICK, "team-a");
      await ui.submit("two", WAITS, "team-b");
      await ui.open("/");
      await link("one").waitFor();
      await ui.page.getByLabel("Namespace").fill("team-b");
      await ui.page.waitForURL(/namespace=team-b/);
      await link("one").waitFor({ state: "detached" });
      await ui.page.reload();
      await link("two").waitFor();
      expect(await ui.page.getByLabel("Namespace").inputValue()).toBe("team-b");
      await ui.page.getByRole("button", { name: "Succeeded" }).click();
      await shows("No workflow matches the filters");
      await ui.page.goBack();
      await link("two").waitFor();
    });

    test("below a prefix that a proxy removes, everything works without a setting", async () => {
      await ui.submit("prefixed", WAITS);
      const proxy = createServer((asked, answer) => {
        const { method = "GET", url = "/", headers } = asked;
        if (!url.startsWith("/some/prefix/")) {
          answer.writeHead(404).end();
          return;
        }
        const path = url.slice("/some/prefix".length);
        const onward = request(ui.server.url + path, { method, headers }, (found) => {
          answer.writeHead(found.statusCode ?? 500, found.headers);
          found.pipe(answer);
        });
        onward.on("error", () => answer.destroy());
        answer.on("close", () => onward.destroy());
        asked.pipe(onward);
      });
      proxy.listen(0, "127.0.0.1");
      await once(proxy, "listening");
      const { port } = proxy.address() as AddressInfo;
      ui.browser.troubles();
      await ui.page.goto(`http://127.0.0.1:${port}/some/prefix/`);
      await link("prefixed").click();
      await ui.page.waitForURL(/\/some\/prefix\/workflows\/default\/prefixed$/);
      await ui.page.reload();
      await ui.page.locator("svg .step").waitFor();
      await ui.page.getByText("The call that resumes it").click();
      await shows(`http://127.0.0.1:${port}/some/prefix/api/v1/workflows/default/prefixed/resume`);
      await link("Waiting").click();
      await ui.page.waitForURL(/\/some\/prefix\/waiting$/);
      await ui.page.getByRole("link", { name: /prefixed in default/ }).waitFor();
      await link("Workflows").click();
      await link("prefixed").waitFor();
      expect(ui.browser.troubles()).toEqual([]);
      await ui.page.goto("about:blank");
      proxy.closeAllConnections();
      proxy.close();
    });
  },
);
