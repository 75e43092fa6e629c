/** Templates, cron workflows, the archive, locks and the system: seen and changed by clicks, keys and without a reload. */
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import { browserMissing } from "../../support/argo_pages.ts";
import { FAILS, LONG, openUi, QUICK, type Ui, WAITS } from "../../support/ui.ts";

const missing = browserMissing();
const PATIENCE = { timeout: 20_000, interval: 50 };
/** Ends without starting anything. */
const AT_ONCE = { entrypoint: "main", templates: [{ name: "main", steps: [[]] }] };
const DESCRIPTION = "workflows.argoproj.io/description";

interface Found {
  metadata: { name: string; uid: string };
  status: { phase?: string };
}

describe.skipIf(missing !== undefined)(
  `stored things${missing ? ` (skipped: ${missing})` : ""}`,
  () => {
    let ui: Ui;
    /** The same for what is read again and again: it is read now, as it is when a browser is online again. */
    const soon = async (text: string | RegExp) => {
      const found = ui.page.getByText(text).first();
      await expect.poll(async () => {
        await ui.page.evaluate("dispatchEvent(new Event('online'))");
        return await found.isVisible();
      }, { timeout: 20_000, interval: 200 }).toBe(true);
    };
    const link = (name: string | RegExp) => ui.page.getByRole("link", { name, exact: true });
    const shows = (text: string | RegExp) => ui.page.getByText(text).first().waitFor();
    const row = (name: string) => ui.page.getByRole("row").filter({ has: link(name) });
    const dialog = () => ui.page.getByRole("dialog");
    const actions = () => ui.page.getByRole("toolbar", { name: "Actions" });
    const act = (name: string) => actions().getByRole("button", { name, exact: true }).click();
    const get = (name: string) => ui.call<Found>("GET", `workflows/default/${name}`);
    const phase = async (name: string) => (await get(name)).status.phase;

    beforeAll(async () => {
      ui = await openUi(["--archive-deleted"]);
    });
    afterAll(() => ui?.close());
    afterEach(() => expect(ui.browser.troubles()).toEqual([]));

    async function storeTemplate(name: string, namespace = "default"): Promise<void> {
      const template = {
        metadata: { name, annotations: { [DESCRIPTION]: `What ${name} does` } },
        spec: {
          ...QUICK,
          arguments: {
            parameters: [
              { name: "who", enum: ["ada", "bob"], description: "Whom to greet" },
              { name: "how", value: "loudly" },
            ],
          },
        },
      };
      const path = namespace === ""
        ? "cluster-workflow-templates"
        : `workflow-templates/${namespace}`;
      await ui.call("POST", path, { template });
    }

    test("templates: found by a part of the name, shown with parameters and runs, submitted, deleted", async () => {
      await storeTemplate("greet");
      await storeTemplate("import-all", "shop");
      await storeTemplate("clean-up", "");
      const submitOptions = { parameters: ["who=ada"] };
      const submission = { resourceKind: "WorkflowTemplate", resourceName: "greet", submitOptions };
      const made = await ui.call<Found>("POST", "workflows/default/submit", submission);
      await ui.open("/templates");
      await row("import-all").getByText("shop").waitFor();
      await ui.page.getByLabel("Name contains").fill("gree");
      await ui.page.waitForURL(/name=gree/);
      await link("import-all").waitFor({ state: "detached" });
      await ui.page.reload();
      await shows("What greet does");
      await link("greet").click();
      await ui.page.waitForURL(/\/templates\/default\/greet$/);
      await ui.page.getByRole("row", { name: /who required ada, bob Whom to greet/ }).waitFor();
      await ui.page.getByRole("row", { name: /how loudly/ }).waitFor();
      await row(made.metadata.name).getByText("Succeeded").waitFor();
      await shows("entrypoint: main");
      await link("Submit from it").click();
      await ui.page.waitForURL(/\/submit\?namespace=default&template=greet$/);
      await ui.page.locator("select[name=who]").waitFor();
      await ui.page.goBack();
      await act("Delete");
      await dialog().getByRole("button", { name: "Cancel" }).click();
      await act("Delete");
      await dialog().getByRole("button", { name: "Delete" }).click();
      await shows("The template greet is deleted.");
      await ui.page.waitForURL(/\/templates$/);
      await link("import-all").waitFor();
      expect(await link("greet").count()).toBe(0);
      await ui.button("For the whole cluster").click();
      await ui.page.waitForURL(/scope=cluster/);
      await link("clean-up").click();
      await ui.page.waitForURL(/\/templates\/clean-up$/);
      await shows("all namespaces");
      await link("Submit from it").click();
      await ui.page.locator("select[name=who]").selectOption("bob");
      await ui.button("Submit").click();
      await ui.page.waitForURL(/\/workflows\/default\/clean-up-\w+$/);
      await ui.open("/templates/clean-up");
      await ui.page.getByRole("row", { name: /Succeeded clean-up-/ }).waitFor();
      await act("Delete");
      await dialog().getByRole("button", { name: "Delete" }).click();
      await shows("No templates yet");
    });

    const storeCron = (name: string, spec: object) =>
      ui.call("POST", "cron-workflows/default", {
        cronWorkflow: { metadata: { name }, spec: { workflowSpec: QUICK, ...spec } },
      });

    test("cron: schedules in words, next runs, suspended and resumed, run now, deleted", async () => {
      await storeCron("nightly", { schedules: ["30 2 * * *"], timezone: "Europe/Berlin" });
      await storeCron("often", { schedules: ["@every 90s"] });
      await ui.open("/cron");
      await row("nightly").getByText("At 02:30, every day (Europe/Berlin)").waitFor();
      await row("often").getByText("Every 1 min 30 s, counted from its creation").waitFor();
      // The test may run shortly before.
      await row("nightly").getByText(/^in \d+ (h|min|s)$/).waitFor();
      await ui.page.getByRole("img", { name: "nightly: 1 run" }).waitFor();
      await link("nightly").click();
      await ui.page.waitForURL(/\/cron\/default\/nightly$/);
      await expect.poll(() => ui.page.locator(".next-runs li").count(), PATIENCE).toBe(8);
      await act("Suspend");
      await shows("nightly is suspended: it starts nothing until it is resumed.");
      await shows("It is suspended: due times pass without a run.");
      // Sooner, a click at the same place would be the second half of a double click.
      await ui.page.waitForTimeout(500);
      await act("Resume");
      await shows("nightly is resumed.");
      await act("Run now");
      await dialog().getByRole("button", { name: "Run now" }).click();
      await shows("nightly runs now as");
      await ui.page.getByRole("row", { name: /Succeeded nightly-/ }).waitFor();
      await act("Delete");
      await dialog().getByRole("button", { name: "Delete" }).click();
      await shows("The cron workflow nightly is deleted.");
      await ui.page.waitForURL(/\/cron$/);
      await link("often").waitFor();
      expect(await link("nightly").count()).toBe(0);
      // A read that is on its way while it is deleted finds nothing.
      expect(ui.browser.troubles().filter((one) => !/^404 GET .*\/nightly$/.test(one))).toEqual([]);
      await ui.call("DELETE", "cron-workflows/default/often");
    });

    test("cron: runs come without a reload, and a skipped run says why", async () => {
      await storeCron("busy", {
        schedules: ["@every 1s"],
        concurrencyPolicy: "Forbid",
        workflowSpec: WAITS,
      });
      await storeCron("picky", { schedules: ["@every 1s"], when: "1 == 2" });
      await ui.open("/cron/default/busy");
      await soon("the new one is skipped");
      await ui.page.getByRole("row", { name: /Waiting busy-/ }).waitFor();
      await shows(
        /skipped because the previous run was still going \(concurrency policy Forbid\)\./,
      );
      await soon(/^[2-9]\d* runs from .* were skipped/);
      await ui.open("/cron/default/picky");
      await soon("because its condition (when) was false.");
      await shows("It has not run yet, or its runs are deleted.");
      // A page that is open would ask for a cron workflow that is gone.
      await ui.open("/templates");
      for (const name of ["busy", "picky"]) {
        await ui.call("DELETE", `cron-workflows/default/${name}`);
      }
    });

    test("archive: filters in the address, one opened, retried, resubmitted, deleted", async () => {
      await ui.submit("kept-broken", FAILS);
      await ui.submit("kept-fine", QUICK);
      await expect.poll(() => phase("kept-broken"), PATIENCE).toBe("Failed");
      await expect.poll(() => phase("kept-fine"), PATIENCE).toBe("Succeeded");
      for (const name of ["kept-broken", "kept-fine"]) {
        await ui.call("DELETE", `workflows/default/${name}`);
      }
      await ui.open("/archive?name=kept");
      await row("kept-fine").getByText("only here").waitFor();
      await ui.page.getByRole("button", { name: "Failed" }).click();
      await ui.page.waitForURL(/phase=Failed/);
      await link("kept-fine").waitFor({ state: "detached" });
      await ui.page.reload();
      await link("kept-broken").click();
      await ui.page.waitForURL(/\/archive\/default\/kept-broken\/[-0-9a-f]+$/);
      await shows("This is the workflow as the archive has it. It does not change.");
      await shows("Step “break” failed with exit code 3.");
      // The lines went with the workflow.
      expect(await ui.page.getByRole("tab", { name: "Logs" }).count()).toBe(0);
      await ui.page.locator("svg .step", { hasText: "break" }).waitFor();
      await ui.page.getByRole("tab", { name: "Manifest" }).click();
      // The editor draws only the lines that are in its view.
      await shows("name: kept-broken");
      await act("Resubmit");
      await dialog().getByRole("button", { name: "Resubmit" }).click();
      await ui.page.waitForURL(/\/workflows\/default\/kept-broken-\w+$/);
      await ui.page.goBack();
      await act("Retry");
      await dialog().getByRole("button", { name: "Retry" }).click();
      await ui.page.waitForURL(/\/workflows\/default\/kept-broken$/);
      await expect.poll(() => phase("kept-broken"), PATIENCE).toBe("Failed");
      await ui.open("/archive?name=kept-fine");
      await link("kept-fine").click();
      await actions().waitFor();
      expect(await actions().getByRole("button", { name: "Retry" }).count()).toBe(0);
      await act("Delete");
      await dialog().getByRole("button", { name: "Delete" }).click();
      await shows("kept-fine is deleted.");
      await ui.page.waitForURL(/\/archive$/);
      await link("kept-broken").first().waitFor();
      expect(await link("kept-fine").count()).toBe(0);
    });

    test("archive: what was not shown at first comes with the next page", async () => {
      for (let index = 0; index < 103; index++) await ui.submit(`page-${index}`, AT_ONCE, "paged");
      await expect.poll(async () => {
        const { items } = await ui.call<{ items: unknown[] | null }>(
          "GET",
          "archived-workflows?namespace=paged&listOptions.limit=200",
        );
        return items?.length;
      }, { timeout: 90_000, interval: 500 }).toBe(103);
      await ui.open("/archive?namespace=paged");
      await shows("100 workflows shown");
      await ui.button("Show 100 more").click();
      await shows("103 workflows shown");
      expect(await ui.button("Show 100 more").count()).toBe(0);
    }, 120_000);

    test("locks: who holds and who waits, without a reload; a larger limit lets more in", async () => {
      const semaphore = {
        semaphores: [{ configMapKeyRef: { name: "sizes", key: "builds" } }],
      };
      await ui.call("POST", "sync/default", { cmName: "sizes", key: "builds", limit: 1 });
      await ui.open("/locks");
      await shows("Nobody holds or waits for a lock");
      await ui.submit("builder", { ...LONG, synchronization: semaphore });
      await shows("1 of 1 held");
      await ui.submit("patient", { ...LONG, synchronization: semaphore });
      await soon("1 waiting");
      const card = ui.page.locator(".locks > li");
      await card.getByText("Waiting, in this order").waitFor();
      expect(await card.getByRole("link").allInnerTexts()).toEqual(["builder", "patient"]);
      await card.getByText(/^for \d+ s$/).first().waitFor();
      await card.getByRole("button", { name: "Change the limit" }).click();
      await card.getByLabel("Most holders at a time").fill("2");
      await card.getByRole("button", { name: "Save" }).click();
      await shows("builds may now be held 2 times.");
      await soon("2 of 2 held");
      await soon("nobody waits");
      await link("patient").click();
      await ui.page.waitForURL(/\/workflows\/default\/patient$/);
      for (const name of ["builder", "patient"]) {
        await ui.call("PUT", `workflows/default/${name}/terminate`, {});
      }
      await ui.open("/locks");
      await shows("Nobody holds or waits for a lock");
    });

    test("system: the facts, and sentences about what is not well", async () => {
      await ui.open("/system");
      await shows("All is well.");
      await shows("64 of 64");
      await shows("SQLite on this machine");
      await shows(/^0 of \d+ places taken$/);
      await ui.page.route(/\/api\/v1\/system/, async (route) => {
        const answer = await (await route.fetch()).json();
        const troubled = {
          ...answer,
          replicas: [...answer.replicas, { name: "silent-one" }],
          store: { ...answer.store, trouble: "the disk is on fire" },
          events: { queued: 60, capacity: 64 },
        };
        await route.fulfill({ json: troubled });
      });
      await soon("The store does not answer: the disk is on fire.");
      await shows("No answer from silent-one.");
      await soon("The queue of events is 94 % full.");
      await ui.page.unrouteAll({ behavior: "ignoreErrors" });
      await soon("All is well.");
    });

    test("a page that is read again and again says when the connection is lost, and catches up", async () => {
      await storeTemplate("before");
      await ui.open("/templates");
      await link("before").waitFor();
      ui.gate.refuse();
      await ui.page.evaluate("dispatchEvent(new Event('online'))");
      await shows(/Connection lost/);
      await link("before").waitFor();
      await storeTemplate("meanwhile");
      ui.gate.heal();
      await link("meanwhile").waitFor();
      await shows(/Connected again/);
      expect(await ui.page.getByText(/Connection lost/).count()).toBe(0);
      // The browser notes each request that failed.
      ui.browser.troubles();
    });

    test("what cannot be read says why, and can be deleted", async () => {
      await storeTemplate("damaged");
      await storeCron("damaged", { schedules: ["0 0 1 1 *"] });
      const one = /\/(workflow-templates|cron-workflows)\/default\/damaged$/;
      const refusal = { status: 400, json: { code: 9, message: "it is torn in two" } };
      await ui.page.route(
        one,
        (route) => route.request().method() === "GET" ? route.fulfill(refusal) : route.continue(),
      );
      for (const path of ["/templates/default/damaged", "/cron/default/damaged"]) {
        await ui.open(path);
        await shows("it is torn in two");
        await actions().getByRole("button", { name: "Delete" }).waitFor();
        expect(await actions().locator("button, a").allInnerTexts()).toEqual(["Delete"]);
        await act("Delete");
        await dialog().getByRole("button", { name: "Delete" }).click();
        await shows(/damaged is deleted\./);
      }
      await ui.page.unroute(one);
      ui.browser.troubles();
    });

    test("keys lead to every page, and the menu of a small screen works without a mouse", async () => {
      const { page } = ui;
      await ui.open("/");
      await page.getByRole("heading", { name: "Workflows" }).waitFor();
      for (
        const [key, path] of [
          ["t", "templates"],
          ["c", "cron"],
          ["a", "archive"],
          ["l", "locks"],
          ["y", "system"],
        ] as const
      ) {
        await page.keyboard.press("g");
        await page.keyboard.press(key);
        await page.waitForURL(new RegExp(`/${path}$`));
        await page.locator("h1").waitFor();
        expect(await page.locator("nav a[aria-current]").count()).toBe(1);
      }
      await page.setViewportSize({ width: 360, height: 800 });
      expect(await link("Locks").isVisible()).toBe(false);
      await ui.button("Menu").focus();
      await page.keyboard.press("Enter");
      await link("Locks").waitFor();
      await page.keyboard.press("Escape");
      await link("Locks").waitFor({ state: "hidden" });
      await page.keyboard.press("Enter");
      await link("Locks").focus();
      await page.keyboard.press("Enter");
      await page.waitForURL(/\/locks$/);
      await page.getByRole("heading", { name: "Locks" }).waitFor();
      expect(await link("Locks").isVisible()).toBe(false);
      await page.setViewportSize({ width: 1280, height: 900 });
    });
  },
);
