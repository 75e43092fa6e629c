/**
 * The pages stay quick with much to show. Bounds on the clock are several times the bar, because a busy machine is no defect; those
 * on single tasks are processor time. The figures are those of `deno task bench ui`.
 */
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { browserMissing } from "../../support/argo_pages.ts";
import { openUi, type Ui, WAITS } from "../../support/ui.ts";
import {
  drag,
  heldBy,
  LARGE,
  storeForSpeed,
  timeToContent,
  workFor,
} from "../../support/ui_speed.ts";

const missing = browserMissing();
/** Longest task while somebody moves or types, ms of processor time: the bar of the benchmark. */
const TASK = 100;
const pathOf = (name: string) => `/workflows/default/${name}`;

describe.skipIf(missing !== undefined)(
  `pages with much to show${missing ? ` (skipped: ${missing})` : ""}`,
  () => {
    let ui: Ui;
    const shown = (path: string, selector: string) =>
      timeToContent(ui.page, ui.url + path, selector);

    beforeAll(async () => {
      ui = await openUi([], undefined, (folder) => storeForSpeed(folder, 2_000));
      await ui.submit("live", WAITS);
      await shown("/login", "h1");
    });
    afterAll(() => ui?.close());

    test("the list, and graphs of 300 and of 5,000 nodes, are soon there", async () => {
      expect(await shown("/", "table.list tbody tr")).toBeLessThan(8_000);
      expect(await shown(pathOf(LARGE.dag300), "svg .step, svg .far")).toBeLessThan(8_000);
      expect(await shown(pathOf(LARGE.loop), "svg .step")).toBeLessThan(20_000);
      expect(await shown(pathOf(LARGE.dag5000), "svg .step")).toBeLessThan(20_000);
    });

    test("a graph of 5,000 nodes moves and scales without long tasks, and its steps open", async () => {
      await shown(pathOf(LARGE.dag5000), "svg .step");
      await ui.page.waitForTimeout(1_500);
      await ui.button("Fit").click();
      await ui.page.locator("svg .far").waitFor();
      await drag(ui.page, ".canvas", 1);
      const before = await ui.page.locator(".canvas > svg").boundingBox();
      const { longestTask } = await workFor(ui.page, async () => {
        await drag(ui.page, ".canvas", 40);
        expect(await ui.page.locator(".canvas > svg").boundingBox()).not.toEqual(before);
        for (let i = 0; i < 12; i++) await ui.button("Larger").click();
        await drag(ui.page, ".canvas", 40);
      });
      expect(longestTask).toBeLessThan(TASK);
      // Near enough to be read, steps have their words; what is not in the view is not drawn.
      const steps = ui.page.locator("svg .step");
      await steps.first().waitFor();
      expect(await steps.count()).toBeLessThan(300);
      await ui.button("Fit").click();
      await ui.page.locator("svg .far").waitFor();
      const box = await ui.page.locator(".far .selected").boundingBox();
      if (box === null) throw new Error("the step that failed first is not marked");
      await ui.page.mouse.click(box.x + box.width / 2, box.y + box.height / 2);
      await ui.page.waitForURL(/node=dag-5000-3/);
    });

    test("a step among 5,000 is found without long tasks", async () => {
      await shown(pathOf(LARGE.dag5000), "svg .step");
      await ui.page.waitForTimeout(1_500);
      const { longestTask } = await workFor(ui.page, async () => {
        await ui.page.keyboard.press("/");
        await ui.page.keyboard.type("task-49-99");
        await ui.page.getByText("1 found").waitFor();
        await ui.page.keyboard.press("Enter");
        await ui.page.locator(".step.selected", { hasText: "task-49-99" }).waitFor();
      });
      expect(longestTask).toBeLessThan(TASK);
    });

    test("a loop of 2,000 items opens without long tasks", async () => {
      await shown(pathOf(LARGE.loop2000), "svg .step");
      const { longestTask } = await workFor(ui.page, async () => {
        await ui.page.locator("svg .kind-loop").click();
        await ui.page.locator("svg .step").nth(20).waitFor();
        await ui.button("Fit").click();
        await ui.page.locator("svg .far").waitFor();
      });
      expect(longestTask).toBeLessThan(TASK);
      await ui.button("Reset folding").click();
      await ui.page.locator("svg .kind-loop").waitFor();
      // One item is found without all of the others.
      await ui.page.keyboard.press("/");
      await ui.page.keyboard.type("one(1500");
      await ui.page.keyboard.press("Enter");
      await ui.page.locator(".step.selected", { hasText: "one(1500:1500)" }).waitFor();
      expect(await ui.page.locator("svg .step").count()).toBeLessThan(5);
    });

    test("what is typed stays, whenever the list answers", async () => {
      await shown("/", "table.list tbody tr");
      const field = ui.page.getByLabel("Name contains");
      // Slower than the pause after which the list follows, for some letters.
      const text = "live and much more";
      for (const [index, letter] of [...text].entries()) {
        await ui.page.waitForTimeout(230 + (index % 7) * 10);
        await field.pressSequentially(letter);
      }
      expect(await field.inputValue()).toBe(text);
      await ui.page.waitForURL(/name=live\+and\+much\+more/);
      await field.fill("");
      await ui.page.getByRole("link", { name: "live", exact: true }).waitFor();
      expect(await field.inputValue()).toBe("");
    });

    test("where changes come faster than they are drawn, the page has time for its visitor", async () => {
      const page = await ui.page.context().newPage();
      // Each change of the rows costs this browser a tenth of a second; 50 changes a second come.
      await page.addInitScript(`
        const real = fetch;
        globalThis.draws = 0;
        const frame = (n) => {
          const metadata = { name: "fast", namespace: "default", creationTimestamp: "2030-01-01T00:00:00Z" };
          const object = { metadata, spec: {}, status: { phase: "Running", progress: n + "/99999" } };
          return new TextEncoder().encode("data: " + JSON.stringify({ result: { type: "MODIFIED", object } }) + "\\n\\n");
        };
        globalThis.fetch = (input, init) => {
          if (!String(input.url ?? input).includes("/workflow-events/")) return real(input, init);
          let n = 0;
          const body = new ReadableStream({
            start: (one) => void setInterval(() => one.enqueue(frame(Math.min(++n, 200))), 20),
          });
          return Promise.resolve(new Response(body));
        };
        new MutationObserver((all) => {
          if (!all.some(({ target }) => target.parentElement?.closest?.("tbody"))) return;
          globalThis.draws++;
          for (const until = performance.now() + 100; performance.now() < until;);
        }).observe(document, { subtree: true, childList: true, characterData: true });
      `);
      await page.goto(ui.url);
      const row = page.getByRole("row", { name: "fast" });
      await row.waitFor();
      const draws = () => page.evaluate<number>("draws");
      const before = await draws();
      await page.waitForTimeout(3_000);
      // Without a rest there are more than twenty; the clock of the rows adds some.
      expect(await draws() - before).toBeLessThan(14);
      await row.getByText("200/99999").waitFor();
      await page.close();
    });

    test("changes leave nothing behind", async () => {
      for (const path of ["/", "/workflows/default/live"]) {
        await shown(path, "table.list tbody tr, svg .step");
        const change = async (count: number) => {
          for (let i = 0; i < count; i++) {
            await ui.call("PUT", "workflows/default/live/suspend", {});
            await ui.call("PUT", "workflows/default/live/set", {
              nodeFieldSelector: "displayName=live",
              message: `${path} ${i}`,
            });
          }
          await ui.page.waitForTimeout(300);
        };
        await change(50);
        const early = await heldBy(ui.page);
        await change(200);
        const late = await heldBy(ui.page);
        expect(late.heapMiB - early.heapMiB).toBeLessThan(2);
        expect(late.elements - early.elements).toBeLessThan(100);
      }
    });
  },
);
