/** Steps that take less than a second, the inbox beside many workflows that run, and counts that do not reach back to the first. */
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import { advance } from "../../../src/engine/advance.ts";
import { takeChanges } from "../../../src/engine/codec.ts";
import { createWorkflow } from "../../../src/engine/create.ts";
import type { Workflow } from "../../../src/spec/manifest.ts";
import type { ActorChange } from "../../../src/store/port.ts";
import { openSqliteStore } from "../../../src/store/sqlite/store.ts";
import { browserMissing } from "../../support/argo_pages.ts";
import { ENGINE_ENV } from "../../support/engine_env.ts";
import { storeWorkflows } from "../../support/stored_workflows.ts";
import { LONG, openUi, type Ui, WAITS } from "../../support/ui.ts";

const missing = browserMissing();
const RUNNING = 10_500;
/** One workflow in so many waits. */
const EVERY = 70;
const WAITING = RUNNING / EVERY;
/** Workflows of a page of the inbox, and entries that are drawn at once. */
const [PAGE, DRAWN] = [100, 50];
const SHORT = {
  entrypoint: "main",
  templates: [
    { name: "main", steps: [[{ name: "nap", template: "nap" }]] },
    { name: "nap", container: { image: "x", command: ["sleep"], args: ["0.3"] } },
  ],
};

const nameOf = (i: number) => `job-${String(i).padStart(5, "0")}`;

/** A workflow that runs, as the engine stores it: the later, the higher its number. */
function running(i: number): ActorChange {
  const env = { ...ENGINE_ENV, now: ENGINE_ENV.now + 1_000 * i };
  const metadata: Workflow["metadata"] = {
    name: nameOf(i),
    namespace: "many",
    uid: `uid-${i}`,
    labels: { team: "red" },
    creationTimestamp: new Date(env.now).toISOString().replace(".000", ""),
  };
  const state = createWorkflow({ metadata, spec: i % EVERY === 0 ? WAITS : LONG }, env);
  advance(state, env);
  const { put, index } = takeChanges(state);
  return { id: `wf/many/${nameOf(i)}`, put, drop: [], ...(index !== undefined && { index }) };
}

describe.skipIf(missing !== undefined)(
  `times, waits and counts${missing ? ` (skipped: ${missing})` : ""}`,
  () => {
    let ui: Ui;
    /** Requests of the pages for lists of workflows. */
    const lists: string[] = [];
    const shows = (text: string | RegExp) => ui.page.getByText(text).first().waitFor();
    const poll = <Value>(look: () => Promise<Value> | Value) =>
      expect.poll(look, { timeout: 20_000 });
    const entries = () => ui.page.locator(".inbox > li").count();

    beforeAll(async () => {
      ui = await openUi([], undefined, async (folder) => {
        const store = await openSqliteStore({ folder, durability: "everysec" });
        await storeWorkflows(store, RUNNING, running);
        await store.close();
      });
      ui.page.on("request", (request) => {
        const { pathname, search } = new URL(request.url());
        if (/\/api\/v1\/workflows\/[^/]*$/.test(pathname)) lists.push(pathname + search);
      });
    }, 120_000);
    afterAll(() => ui?.close());
    afterEach(() => expect(ui.browser.troubles()).toEqual([]));

    test("a step of a part of a second shows its milliseconds everywhere", async () => {
      await ui.submit("short", SHORT);
      await ui.open("/workflows/default/short?view=tree");
      await ui.page.locator(".headline .phase", { hasText: "Succeeded" }).waitFor();
      const part = /^(\d{3} ms|\d(\.\d{1,2})? s)$/;
      const row = ui.page.locator(".tree li", { hasText: "nap" });
      expect(await row.locator(".faint").innerText()).toMatch(part);
      await row.locator(".row-button").click();
      const fact = (name: string) =>
        ui.page.locator(".facts div", { hasText: name }).first().locator("dd").innerText();
      expect(await fact("Duration")).toMatch(part);
      expect(await fact("Started")).toMatch(/\.\d{3}/);
      await ui.page.getByRole("tab", { name: "Time line" }).click();
      const bar = ui.page.locator(".time-row", { hasText: "nap" });
      expect(await bar.getAttribute("aria-label")).toMatch(/, (\d{3} ms|\d(\.\d{1,2})? s)$/);
      const ticks = await ui.page.locator(".tick-text").allTextContents();
      expect(ticks.length).toBeGreaterThan(2);
      expect(new Set(ticks).size).toBe(ticks.length);
      for (const tick of ticks) expect(tick).toMatch(/:\d\d\.\d{3}$/);
      // Clients of the reference see whole seconds.
      const { status } = await ui.call<Workflow>("GET", "workflows/default/short");
      expect(status?.finishedAt).toMatch(/:\d\dZ$/);
    });

    test("the inbox says when a step goes on whose template stands in another manifest or in its step", async () => {
      const gate = (duration: string) => ({ suspend: { duration } });
      await ui.call("POST", "workflow-templates/far", {
        template: {
          metadata: { name: "lib" },
          spec: { templates: [{ name: "gate", ...gate("1h") }] },
        },
      });
      const templateRef = { name: "lib", template: "gate" };
      const steps = [[{ name: "by-ref", templateRef }, { name: "inline", inline: gate("3h") }]];
      const templates = [{ name: "main", steps }, { name: "gate", suspend: {} }];
      await ui.submit("far", { entrypoint: "main", templates }, "far");
      await ui.open("/waiting?namespace=far");
      const entry = (name: string) => ui.page.locator(".inbox > li", { hasText: name });
      await entry("by-ref").getByText(/Goes on by itself in (1 h|59 min)/).waitFor();
      await entry("inline").getByText(/Goes on by itself in (3 h|2 h 59 min)/).waitFor();
    });

    test("the inbox reads what waits, page by page, and nothing of what runs", async () => {
      lists.length = 0;
      await ui.open("/waiting?namespace=many");
      await shows(`At least ${PAGE} steps are waiting`);
      expect(await entries()).toBe(DRAWN);
      expect(await ui.page.locator(".inbox > li").first().innerText()).toContain(nameOf(0));
      expect(lists).toHaveLength(1);
      await ui.button("Show more").click();
      await shows(`${WAITING} steps are waiting`);
      expect(lists).toHaveLength(2);
      expect(await entries()).toBe(2 * DRAWN);
      await ui.button("Show more").click();
      expect(await ui.page.locator(".inbox > li").last().innerText())
        .toContain(nameOf(RUNNING - EVERY));
      // What goes on leaves, what begins to wait comes last.
      await ui.call("PUT", `workflows/many/${nameOf(0)}/resume`, {});
      await ui.page.locator(".inbox > li", { hasText: nameOf(0) }).waitFor({ state: "detached" });
      await ui.submit("late", WAITS, "many");
      await ui.page.locator(".inbox > li", { hasText: "late" }).waitFor();
      expect(await ui.page.locator(".inbox > li").last().innerText()).toContain("late");
      expect(lists).toHaveLength(2);
    });

    test("the inbox finds the step of a job wherever it stands", async () => {
      lists.length = 0;
      // It stands on the second page.
      const last = nameOf(RUNNING - EVERY);
      await ui.open(`/waiting?namespace=many&text=${last}`);
      await ui.page.locator(".inbox > li", { hasText: last }).waitFor();
      expect(lists).toHaveLength(2);
      await ui.page.getByLabel("Name or input contains").fill("nobody has this");
      await shows("No waiting step matches the filters");
      // Whoever looks for it in the list of workflows is led to the inbox.
      await ui.open("/?namespace=many&name=job-4711");
      await ui.page.getByRole("link", { name: "Look for “job-4711” in what waiting steps got" })
        .click();
      await ui.page.waitForURL(/\/waiting\?text=job-4711&namespace=many$/);
      await shows("No waiting step matches the filters");
    });

    test("the list shows what waits alone, the longest wait first, and the counts agree with the rows", async () => {
      const { items } = await ui.call<{ items: unknown[] }>(
        "GET",
        "workflows/many?waiting=true&fields=items.metadata.name",
      );
      const waiting = items.length;
      const chip = (name: string) => ui.button(name);
      const counts = () => ui.page.locator(".bars .phase").allInnerTexts();
      await ui.open("/?namespace=many");
      await chip("Failed").click();
      await chip("Waiting").click();
      await poll(() => new URL(ui.page.url()).search).toContain("phase=Waiting");
      expect(await chip("Failed").getAttribute("aria-pressed")).toBe("false");
      const rows = ui.page.locator("tbody tr");
      const [first, second] = [nameOf(EVERY), nameOf(2 * EVERY)];
      await poll(() => rows.first().innerText()).toContain(first);
      expect(await rows.nth(1).innerText()).toContain(second);
      expect(await rows.filter({ hasText: "Waiting" }).count()).toBe(PAGE);
      expect(await rows.count()).toBe(PAGE);
      await shows(`${waiting} workflows:`);
      expect(await counts()).toEqual([`${waiting} Waiting`]);
      await ui.button("Show 100 more").click();
      await poll(() => rows.count()).toBe(waiting);
      // What goes on leaves, what begins to wait comes last.
      await ui.call("PUT", `workflows/many/${first}/resume`, {});
      await poll(() => rows.first().innerText()).toContain(second);
      await ui.submit("later", WAITS, "many");
      await poll(() => rows.last().innerText()).toContain("later");
      await ui.open("/");
      await poll(counts).toContain(`${waiting + 1} Waiting`);
    });

    test.each([-3_600_000, 3_600_000])(
      "a browser whose clock is off by %i ms shows the times of the server",
      async (offset) => {
        const name = offset < 0 ? "seen-behind" : "seen-ahead";
        await ui.submit(name, WAITS, "clocks");
        const page = await ui.page.context().newPage();
        await page.addInitScript((ms) => {
          const now = Date.now;
          Date.now = () => now() + ms;
        }, offset);
        const row = page.getByRole("row", { name });
        await page.goto(`${ui.url}/?namespace=clocks&since=1h`);
        await row.getByText(/^(just now|\d+ s ago)$/).waitFor();
        await page.getByText(/^\d workflows?:$/).waitFor();
        await page.goto(`${ui.url}/waiting?namespace=clocks`);
        const entry = page.locator(".inbox > li", { hasText: name });
        await entry.getByText(/^for \d+(\.\d+)? (s|ms)$/).waitFor();
        await page.close();
      },
    );

    test("counts say how far they reach", async () => {
      await ui.open("/?namespace=many&label=team%3Dred");
      await shows("Among the newest 10,000 workflows:");
      await shows(/at least [0-9,]+ Running/);
      await ui.open("/?phase=");
      await shows(/^10,50\d workflows:$/);
    });
  },
);
