/** Pages that change while somebody looks, and pages without data, with errors, and with a network that breaks. */
import type { Request } from "playwright-core";
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import type { Workflow } from "../../../src/spec/manifest.ts";
import { browserMissing } from "../../support/argo_pages.ts";
import { openPrefixProxy } from "../../support/prefix_proxy.ts";
import { FAILS, openUi, QUICK, type Ui, WAITS } from "../../support/ui.ts";

const missing = browserMissing();
/** Longer than the pause after which a page asks a server again that could not be reached. */
const PAUSE_MS = 5_000;
/** Each page, the calls of the API that it needs, and its words when there is nothing. */
const PAGES = [
  { path: "/", api: /\/api\/v1\/workflows\/\?/, none: "No workflows yet" },
  { path: "/waiting", api: /\/api\/v1\/workflows\/\?/, none: "Nothing is waiting" },
  {
    path: "/submit",
    api: /\/api\/v1\/workflow-templates\//,
    none: "Manifest (YAML or JSON)",
  },
  { path: "/events", api: /\/api\/v1\/event-deliveries\/\?/, none: "No events yet" },
  { path: "/events?state=dead", api: /\/api\/v1\/event-deliveries\/\?/, none: "No dead letters" },
  {
    path: "/events/bindings",
    api: /\/api\/v1\/workflow-event-bindings\/\?/,
    none: "No event bindings yet",
  },
  {
    path: "/events/bindings/default/none",
    api: /\/api\/v1\/workflow-event-bindings\/default\/none/,
    none: "It is not there",
  },
  {
    path: "/events/default/none",
    api: /\/api\/v1\/event-deliveries\/default\/none/,
    none: "It is not there",
  },
  {
    path: "/events/playground",
    api: /\/api\/v1\/workflow-event-bindings\/default\?/,
    none: "It would fail:",
  },
  {
    path: "/workflows/default/none",
    api: /\/api\/v1\/workflows\/default\/none/,
    none: "It is not there",
  },
  { path: "/templates", api: /\/workflow-templates\/\?/, none: "No templates yet" },
  {
    path: "/templates?scope=cluster",
    api: /\/cluster-workflow-templates\?/,
    none: "No templates yet",
  },
  {
    path: "/templates/default/none",
    api: /\/workflow-templates\/default\/none/,
    none: "It is not there",
  },
  { path: "/cron", api: /\/cron-workflows\/\?/, none: "No cron workflows yet" },
  {
    path: "/cron/default/none",
    api: /\/cron-workflows\/default\/none/,
    none: "It is not there",
  },
  { path: "/archive", api: /\/archived-workflows\?/, none: "The archive is empty" },
  { path: "/archive/default/none/0", api: /\/archived-workflows\/0/, none: "It is not there" },
  { path: "/locks", api: /\/api\/v1\/locks\//, none: "Nobody holds or waits for a lock" },
  { path: "/system", api: /\/api\/v1\/system/, none: "All is well." },
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

    test("whoever has no template to submit gets to the manifest", async () => {
      await ui.open("/submit");
      await ui.button("A template").click();
      await shows("No templates in this namespace.");
      await ui.button("Write or paste a manifest").click();
      await shows("Manifest (YAML or JSON)");
    });

    test("whoever chooses templates while they are loaded is not led away", async () => {
      const templates = /\/workflow-templates\/default\?/;
      const { promise: isChosen, resolve: goOn } = Promise.withResolvers<void>();
      await ui.page.route(templates, async (route) => {
        await isChosen;
        await route.continue();
      });
      await ui.open("/submit");
      await ui.button("A template").click();
      await ui.page.waitForURL(/from=template/);
      goOn();
      await shows("No templates in this namespace.");
      await ui.page.unroute(templates);
    });

    test("an address where nothing is says so, with the way to the pages that there are", async () => {
      await ui.open("/workflows/nothing/here/at-all");
      await shows("There is no such page");
      await link("All workflows").click();
      await shows("No workflows yet");
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

    test("the list follows what happens, without a reload", async () => {
      await ui.open("/");
      await shows("No workflows yet");
      await ui.submit("seen", WAITS);
      const phase = row("seen").getByText("Waiting");
      await phase.waitFor();
      expect(await phase.getAttribute("title")).toMatch(
        /^A step has been waiting since .*resumes it/,
      );
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

    test("a workflow that cannot be read any more is not shown as if it were up to date", async () => {
      await ui.submit("stale", WAITS);
      await ui.open("/workflows/default/stale");
      await shows(/has been waiting for a call/);
      const api = /\/api\/v1\/(workflow-events\/default\?|workflows\/default\/stale)/;
      await ui.page.route(
        api,
        (route) => route.fulfill({ status: 401, json: { code: 16, message: "it has expired" } }),
      );
      ui.gate.refuse();
      ui.gate.heal();
      await shows("Please log in");
      // It is about a header, which nobody sets in a browser.
      expect(await ui.page.getByText("it has expired").count()).toBe(0);
      await ui.page.unroute(api);
      await ui.button("Try again").click();
      await ui.page.getByText("Please log in").waitFor({ state: "detached" });
      await ui.call("PUT", "workflows/default/stale/resume", {});
      await ui.page.locator(".headline .phase", { hasText: "Succeeded" }).waitFor();
    });

    test("an order whose answer was lost is not told as one that was not carried out", async () => {
      await ui.submit("ordered", WAITS);
      await ui.open("/workflows/default/ordered");
      await ui.page.route(/\/ordered\/resume$/, async (route) => {
        await route.fetch();
        await route.abort();
      });
      await ui.button("Resume").click();
      await shows(/No answer came, so it may have been done all the same/);
      await ui.page.locator(".headline .phase", { hasText: "Succeeded" }).waitFor();
    });

    test("a resubmission whose answer was lost is made once, however often it is asked for", async () => {
      await ui.submit("copied", WAITS);
      await ui.open("/workflows/default/copied");
      const resubmit = async () => {
        await ui.button("Resubmit").click();
        await ui.page.getByRole("dialog").getByRole("button", { name: "Resubmit" }).click();
      };
      await ui.page.route(/\/copied\/resubmit$/, async (route) => {
        await route.fetch();
        await route.abort();
      }, { times: 1 });
      await resubmit();
      await shows(/No answer came, so it may have been done all the same/);
      await resubmit();
      await ui.page.waitForURL(/\/workflows\/default\/copied-/);
      const { items } = await ui.call("GET", "workflows/default") as {
        items: { metadata: { name: string } }[];
      };
      expect(items.filter(({ metadata }) => metadata.name.startsWith("copied-"))).toHaveLength(1);
    });

    test("a workflow that changed long ago is read once, and followed from now on", async () => {
      await ui.submit("old", WAITS);
      // More than the server keeps of the changes: it looks at that after every 64.
      const arguments_ = { parameters: [{ name: "text", value: "x".repeat(1_000_000) }] };
      for (let i = 0; i < 90; i++) {
        await ui.submit(`later-${i}`, i < 20 ? { ...WAITS, arguments: arguments_ } : WAITS);
      }
      const calls: string[] = [];
      const note = (request: Request) => void calls.push(request.url());
      ui.page.on("request", note);
      await ui.open("/workflows/default/old");
      const watches = () => calls.filter((url) => url.includes("/workflow-events/")).length;
      await expect.poll(watches, { timeout: 10_000 }).toBe(2);
      await ui.page.waitForTimeout(2_000);
      expect(watches()).toBe(2);
      const reads = calls.filter((url) => url.includes("/api/v1/workflows/default/old"));
      // What the browser asked for before the script is what the script asks for.
      expect(reads.length).toBe(2);
      await ui.call("PUT", "workflows/default/old/resume", {});
      await ui.page.locator(".headline .phase", { hasText: "Succeeded" }).waitFor();
      ui.page.off("request", note);
      for (let i = 0; i < 90; i++) await ui.call("DELETE", `workflows/default/later-${i}`);
    });

    test("a log that broke off is read on, and no line comes twice", async () => {
      const talk = "for i in $(seq 1000); do echo line $i; sleep 0.2; done";
      const container = { image: "x", command: ["sh", "-c"], args: [talk] };
      await ui.submit("talks", { entrypoint: "main", templates: [{ name: "main", container }] });
      await ui.open("/workflows/default/talks?view=logs");
      await shows("line 3");
      ui.gate.refuse();
      await shows(/connection lost, trying again/);
      ui.gate.heal();
      await shows(/· live/);
      const before = await ui.page.locator(".lines > div").count();
      await ui.page.locator(".lines > div").nth(before + 2).waitFor();
      const lines = await ui.page.locator(".lines > div").allInnerTexts();
      expect(lines.map((line) => line.replace("talks", "").trim()))
        .toEqual(lines.map((_, index) => `line ${index + 1}`));
      await ui.call("PUT", "workflows/default/talks/terminate", {});
    });

    test("a server that says nothing is told after a while", async () => {
      const list = /\/api\/v1\/workflows\/\?/;
      let answer = () => {};
      const silence = new Promise<void>((resolve) => (answer = resolve));
      await ui.page.route(list, async (route) => {
        await silence;
        await route.continue();
      });
      await ui.open("/");
      await shows("Loading …");
      await shows("Still waiting for the server.");
      answer();
      await ui.page.locator(".loading").waitFor({ state: "detached" });
      await ui.page.unroute(list);
    });

    test("each part of a page that the server could not answer is asked for again by itself", async () => {
      const broken = { code: 14, message: "the store is away" };
      const away = { status: 503, json: broken };
      const failing = (api: RegExp) => ui.page.route(api, (route) => route.fulfill(away));
      // A whole page.
      const list = /\/api\/v1\/workflows\/\?/;
      await failing(list);
      await ui.open("/");
      await shows("the store is away");
      await ui.page.unroute(list);
      await ui.page.getByText("the store is away").waitFor({ state: "detached" });

      await ui.submit("parts", FAILS);
      const state = async () => (await ui.call<Workflow>("GET", "workflows/default/parts")).status;
      await expect.poll(async () => (await state())?.phase, { timeout: 20_000 }).toBe("Failed");
      const nodes = Object.values((await state())?.nodes ?? {});
      const pod = nodes.find(({ type, phase }) => type === "Pod" && phase === "Failed")?.id;
      // The last lines of a log beside the failure, all of it in the panel, and the events of the pod.
      const streams = /\/(log|stream\/events\/default)\?/;
      await failing(streams);
      await ui.open(`/workflows/default/parts?node=${pod}`);
      await ui.page.getByText("Events of the pod").click();
      const panel = ui.page.getByRole("complementary");
      await expect.poll(() => panel.getByText("the store is away").count()).toBe(2);
      expect(await ui.page.locator(".log-tail").count()).toBe(0);
      await ui.page.unroute(streams);
      await ui.page.locator(".pod-events li").first().waitFor();
      await ui.page.locator(".log-tail").getByText("the printer burns").waitFor();
      await panel.locator(".lines").getByText("the printer burns").waitFor();
      // What retries would run again.
      const plan = /\/parts\/retry\/plan/;
      await failing(plan);
      await ui.button("Retry").first().click();
      await shows("the store is away");
      await ui.page.unroute(plan);
      await ui.page.getByText("the store is away").waitFor({ state: "detached" });
      await ui.call("DELETE", "workflows/default/parts");
    });

    test("scripts that cannot be loaded are told, or something else does", async () => {
      await ui.submit("bare", WAITS);
      const later = /\/ui\/assets\/(layout|browser|editor)-/;
      await ui.page.route(later, (route) => route.abort());
      await ui.open("/workflows/default/bare");
      await shows("The script that lays out graphs could not be loaded.");
      await ui.page.getByRole("tab", { name: "Manifest" }).click();
      await shows('"entrypoint": "main"');
      await ui.page.unroute(later);
      await ui.page.getByRole("tab", { name: "Graph" }).click();
      await ui.page.locator("svg .step").waitFor();
    });

    test("lists say that filters, not the server, leave nothing to show", async () => {
      await ui.submit("asks", WAITS);
      await ui.open("/waiting?template=nothing");
      await shows("No waiting step matches the filters");
      expect(await ui.page.getByLabel("Template").inputValue()).toBe("nothing");
      await ui.open("/events/bindings?namespace=nowhere");
      await shows("No event binding in this namespace");
      await ui.open("/locks?namespace=nowhere");
      await shows("Nobody holds or waits for a lock of this namespace");
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
      const proxy = await openPrefixProxy("/some/prefix");
      proxy.lead(ui.server.url);
      ui.browser.troubles();
      await ui.page.goto(`${proxy.url}/`);
      await link("prefixed").click();
      await ui.page.waitForURL(/\/some\/prefix\/workflows\/default\/prefixed$/);
      await ui.page.reload();
      await ui.page.locator("svg .step").waitFor();
      await ui.page.getByText("Resume it or make it fail from a program").click();
      await shows(`${proxy.url}/api/v1/workflows/default/prefixed/resume`);
      await link("Waiting").click();
      await ui.page.waitForURL(/\/some\/prefix\/waiting$/);
      await ui.page.getByRole("link", { name: /prefixed in default/ }).waitFor();
      await link("Workflows").click();
      await link("prefixed").waitFor();
      expect(ui.browser.troubles()).toEqual([]);
      await ui.page.goto("about:blank");
      proxy.close();
    });

    describe("with a clock that need not be waited for", () => {
      beforeAll(async () => {
        for (const namespace of ["default", "team-a", "team-b"]) {
          const { items } = await ui.call<{ items: Workflow[] | null }>(
            "GET",
            `workflows/${namespace}?fields=items.metadata.name`,
          );
          for (const { metadata } of items ?? []) {
            await ui.call("DELETE", `workflows/${namespace}/${metadata.name}`);
          }
        }
        await ui.page.clock.install();
      });

      test("/login says that nobody has to log in, and leads on", async () => {
        await ui.open("/login?from=/waiting");
        await shows("This server asks nobody to log in");
        expect(await ui.page.getByLabel("Token").count()).toBe(0);
        await ui.page.getByRole("link", { name: "Continue" }).click();
        await ui.page.waitForURL(/\/waiting$/);
      });

      test.each(PAGES)(
        "$path without a connection says so, and fills itself when it is back",
        async ({ path, none }) => {
          await ui.open("/login");
          await ui.page.getByRole("heading", { name: "Log in" }).waitFor();
          ui.gate.refuse();
          await ui.page.evaluate(
            `history.pushState(null, "", ${JSON.stringify(path)});` +
              `dispatchEvent(new PopStateEvent("popstate"))`,
          );
          await shows("The server cannot be reached");
          ui.gate.heal();
          await ui.page.clock.fastForward(PAUSE_MS);
          await shows(none);
        },
      );
    });
  },
);
