/** What the pages do where there is little room: long names and messages, logs that grow, large graphs, a phone. */
import type { Locator } from "playwright-core";
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import { browserMissing } from "../../support/argo_pages.ts";
import { openPrefixProxy } from "../../support/prefix_proxy.ts";
import { openUi, type Ui } from "../../support/ui.ts";

const missing = browserMissing();
/** For what takes a moment on a busy machine. */
const PATIENCE = { timeout: 10_000 };
const LONG = "a-step-with-a-name-that-is-longer-than-the-room-that-there-is";
const SPECS = {
  talks: {
    entrypoint: "main",
    templates: [{
      name: "main",
      container: {
        image: "x",
        command: ["sh", "-c"],
        args: ["for i in $(seq 300); do echo line $i; done; while sleep 0.2; do echo more; done"],
      },
    }],
  },
  loops: {
    entrypoint: "main",
    templates: [
      { name: "main", steps: [[{ name: LONG, template: "one", withItems: ["red", "green"] }]] },
      { name: "one", suspend: { duration: "0" } },
    ],
  },
  wide: {
    entrypoint: "main",
    templates: [
      {
        name: "main",
        dag: {
          tasks: Array.from({ length: 200 }, (_, index) => ({
            name: `t${index}`,
            template: "one",
            ...(index > 0 && { dependencies: [`t${Math.floor((index - 1) / 3)}`] }),
          })),
        },
      },
      { name: "one", suspend: { duration: "0" } },
    ],
  },
  "side-by-side": {
    entrypoint: "main",
    templates: [
      {
        name: "main",
        dag: {
          tasks: Array.from({ length: 60 }, (_, at) => ({
            name: `check-${at}`,
            template: at % 30 === 1 ? "waits" : "one",
            arguments: { parameters: [{ name: "uuid", value: `job-${at}` }] },
          })),
        },
      },
      ...[{ name: "one", suspend: { duration: "0" } }, { name: "waits", suspend: {} }].map((
        one,
      ) => ({
        ...one,
        inputs: { parameters: [{ name: "uuid" }] },
      })),
    ],
  },
  chains: {
    entrypoint: "main",
    templates: [
      {
        name: "main",
        dag: {
          tasks: [
            { name: "start", template: "one" },
            ...Array.from({ length: 60 }, (_, at) => [
              { name: `get-${at}`, template: "one", dependencies: ["start"] },
              { name: `put-${at}`, template: "one", dependencies: [`get-${at}`] },
            ]).flat(),
          ],
        },
      },
      { name: "one", suspend: { duration: "0" } },
    ],
  },
  "far-failure": {
    entrypoint: "main",
    templates: [
      {
        name: "main",
        dag: {
          tasks: Array.from({ length: 200 }, (_, at) => ({
            name: `t${at}`,
            template: at === 150 ? "fails" : "one",
            ...(at > 9 && { dependencies: [`t${at - 10}`] }),
          })),
        },
      },
      { name: "one", suspend: { duration: "0" } },
      { name: "fails", container: { image: "x", command: ["sh", "-c"], args: ["exit 7"] } },
    ],
  },
};

describe.skipIf(missing !== undefined)(
  `little room${missing ? ` (skipped: ${missing})` : ""}`,
  () => {
    let ui: Ui;
    const phase = async (name: string) =>
      (await ui.call<{ status: { phase: string } }>("GET", `workflows/default/${name}`)).status
        .phase;

    /** Waits until steps are drawn so large that they can be read. */
    const readableSteps = () =>
      expect.poll(
        async () => (await ui.page.locator(".step .ground").first().boundingBox())?.width,
        { timeout: 20_000 },
      ).toBeGreaterThan(120);
    /** Waits until an element lies in the canvas. */
    const inView = (one: Locator) =>
      expect.poll(async () => {
        const [box, canvas] = [
          await one.boundingBox(),
          await ui.page.locator(".canvas").boundingBox(),
        ];
        return box !== null && canvas !== null && box.x >= canvas.x - 1 && box.y >= canvas.y - 1 &&
          box.x + box.width <= canvas.x + canvas.width + 1 &&
          box.y + box.height <= canvas.y + canvas.height + 1;
      }, { timeout: 10_000 }).toBe(true);

    beforeAll(async () => {
      ui = await openUi();
      for (const [name, spec] of Object.entries(SPECS)) await ui.submit(name, spec);
    });
    afterAll(() => ui?.close());
    afterEach(() => expect(ui.browser.troubles()).toEqual([]));

    test("the log of a running step shows its end, until somebody scrolls up", async () => {
      await ui.open("/workflows/default/talks?view=logs");
      const lines = ui.page.locator("#view .lines");
      await lines.getByText("line 300").waitFor();
      const below = () =>
        lines.evaluate((box) => box.scrollHeight - box.scrollTop - box.clientHeight);
      await expect.poll(below, PATIENCE).toBeLessThan(2);
      const moreLines = async () => {
        const before = await lines.locator("div").count();
        await expect.poll(() => lines.locator("div").count(), PATIENCE).toBeGreaterThan(before + 1);
      };
      await moreLines();
      await expect.poll(below, PATIENCE).toBeLessThan(2);
      // On a busy machine lines come before the browser tells of the scroll.
      await ui.page.evaluate(() => {
        const box = document.querySelector("#view .lines");
        addEventListener("scroll", (event) => event.stopPropagation(), { capture: true });
        if (box !== null) box.scrollTop = 0;
      });
      await moreLines();
      expect(await lines.evaluate((box) => box.scrollTop)).toBe(0);
      await ui.call("PUT", "workflows/default/talks/terminate");
    });

    test("items of a loop can be told apart in the time line", async () => {
      await expect.poll(() => phase("loops")).toBe("Succeeded");
      await ui.open("/workflows/default/loops?view=time");
      await ui.page.locator(".time-row text", { hasText: /…[^…]*0:red\)$/ }).waitFor();
      await ui.page.locator(".time-row text", { hasText: /…[^…]*1:green\)$/ }).waitFor();
    });

    test("on a phone a part of a wide graph can be read at once, and all of it comes into view", async () => {
      await expect.poll(() => phase("wide"), { timeout: 20_000 }).toBe("Succeeded");
      await ui.page.setViewportSize({ width: 390, height: 844 });
      await ui.open("/workflows/default/wide");
      await readableSteps();
      await ui.button("Fit").click();
      const [canvas, drawn] = await ui.page.evaluate(() =>
        [".canvas", ".canvas > svg"].map((one) =>
          document.querySelector(one)?.getBoundingClientRect()
        )
      );
      expect(drawn?.right).toBeLessThanOrEqual((canvas?.right ?? 0) + 1);
      expect(drawn?.bottom).toBeLessThanOrEqual((canvas?.bottom ?? 0) + 1);
      // A step is as long as the room allows, not as short as the width of a layer would make it.
      expect(drawn?.height).toBeGreaterThan((canvas?.height ?? 0) * 0.5);
    });

    test("steps that are too small to be read are coloured boxes until somebody makes them larger", async () => {
      await ui.page.setViewportSize({ width: 1280, height: 860 });
      await ui.open("/workflows/default/wide");
      await readableSteps();
      await ui.button("Fit").click();
      const step = ui.page.locator(".step").first();
      await step.waitFor();
      const colours = () =>
        step.evaluate((one) => {
          const { color, fill } = getComputedStyle(one.querySelector(".ground") ?? one);
          return { isFilled: color === fill };
        });
      expect(await colours()).toEqual({ isFilled: true });
      expect(await step.locator(".title").isVisible()).toBe(false);
      for (let times = 0; times < 4; times++) await ui.button("Larger").click();
      expect(await colours()).toEqual({ isFilled: false });
    });

    test("many steps side by side are one node with counts by phase, until somebody opens it or looks for one of them", async () => {
      await ui.page.setViewportSize({ width: 1280, height: 860 });
      await expect.poll(() => phase("side-by-side"), { timeout: 20_000 }).toBe("Running");
      await ui.open("/workflows/default/side-by-side?node=-");
      const group = ui.page.locator(".step.kind-group");
      await group.locator(".title", { hasText: "check-… (60)" }).waitFor();
      expect(await group.getAttribute("aria-label")).toMatch(
        /^check-… \(60\), Waiting, 2 Waiting, 58 Succeeded$/,
      );
      await ui.page.keyboard.press("/");
      await ui.page.keyboard.type("job-31");
      await ui.page.getByText("1 found").waitFor();
      await ui.page.keyboard.press("Enter");
      await ui.page.getByText("1 of 1").waitFor();
      await group.locator(".title", { hasText: "check-… (59)" }).waitFor();
      await ui.page.locator(".step.selected", { hasText: "check-31" }).waitFor();
      await ui.page.getByRole("complementary").getByText("job-31").waitFor();
      await group.click();
      await expect.poll(() => ui.page.locator(".step").count()).toBeGreaterThan(40);
      await readableSteps();
      await ui.button("Reset folding").click();
      await group.locator(".title", { hasText: "check-… (60)" }).waitFor();
      await ui.page.getByRole("searchbox").fill("nowhere");
      await ui.page.getByText("No step has this").waitFor();
      await ui.call("PUT", "workflows/default/side-by-side/terminate");
    });

    test("many chains side by side are one chain; what is opened of them is framed, with one edge", async () => {
      await ui.page.setViewportSize({ width: 1280, height: 860 });
      await expect.poll(() => phase("chains"), { timeout: 20_000 }).toBe("Succeeded");
      await ui.open("/workflows/default/chains?node=-");
      const group = (name: string) =>
        ui.page.locator(".step.kind-group", { hasText: `${name}-… (60)` });
      await group("put").waitFor();
      expect(await ui.page.locator(".step").count()).toBe(3);
      await group("get").press("Enter");
      const frame = ui.page.locator("rect.edge");
      await frame.waitFor({ state: "attached" });
      await ui.button("Fit").click();
      await expect.poll(() => ui.page.locator(".step").count()).toBe(62);
      const moves = async () =>
        (await ui.page.locator("path.edge").evaluateAll((paths) =>
          paths.map((path) => path.getAttribute("d")).join("")
        )).match(/M/g)?.length;
      expect(await moves()).toBe(2);
      const steps = await ui.page.locator(".step", { hasText: /get-\d/ }).evaluateAll((all) =>
        all.map((one) => one.getBoundingClientRect())
      );
      const around = await frame.evaluate((one) => one.getBoundingClientRect());
      for (const { left, right, top, bottom } of steps) {
        expect(left > around.left && right < around.right).toBe(true);
        expect(top > around.top && bottom < around.bottom).toBe(true);
      }
    });

    test("a large graph begins at the step that failed, and keys bring each step into view", async () => {
      await ui.page.setViewportSize({ width: 1280, height: 860 });
      await expect.poll(() => phase("far-failure"), { timeout: 20_000 }).toBe("Failed");
      await ui.open("/workflows/default/far-failure");
      await inView(ui.page.locator(".step.selected", { hasText: "t150" }));
      await ui.open("/workflows/default/far-failure?node=-");
      await inView(ui.page.locator(".step", { hasText: "t150" }));
      const first = ui.page.locator(".step").first();
      await first.focus();
      for (let times = 0; times < 30; times++) await ui.page.keyboard.press("Tab");
      await inView(ui.page.locator(".step:focus"));
      expect(await ui.page.locator(".canvas").evaluate((one) => [one.scrollLeft, one.scrollTop]))
        .toEqual([0, 0]);
      const overview = ui.page.locator(".overview");
      await overview.click({ position: { x: 3, y: 3 } });
      await inView(ui.page.locator(".step", { hasText: /^t0/ }).first());
      await overview.press("End");
      await inView(ui.page.locator(".step", { hasText: "t199" }));
      for (let times = 0; times < 30; times++) await overview.press("ArrowLeft");
      await inView(ui.page.locator(".step", { hasText: "t9" }).first());
      // A step that is chosen elsewhere on the page comes into view too.
      await ui.button("Show the step").first().click();
      await inView(ui.page.locator(".step.selected", { hasText: "t150" }));
      // A click leaves no frame of the browser's around it.
      await ui.page.locator(".step.selected").click();
      expect(await ui.page.evaluate("getComputedStyle(document.activeElement).outlineStyle"))
        .toBe("none");
      await ui.button("Fit").click();
      await overview.waitFor({ state: "hidden" });
    });

    test("on a phone a step that somebody asks for comes into view", async () => {
      await ui.page.setViewportSize({ width: 390, height: 600 });
      await ui.open("/workflows/default/wide?view=tree&node=-");
      const panel = ui.page.getByRole("complementary").getByRole("heading").first();
      await panel.getByText("The whole workflow").waitFor();
      await ui.page.locator(".tree .row-button").first().click();
      await expect.poll(async () => {
        const box = await panel.boundingBox();
        return box !== null && box.y >= 0 && box.y < 600;
      }).toBe(true);
    });

    test("a message of a list that is cut ends with an ellipsis", async () => {
      await ui.call("POST", "workflow-event-bindings/default", {
        binding: {
          metadata: { name: "lost" },
          spec: {
            event: { selector: "true" },
            submit: { workflowTemplateRef: { name: "a-template-that-is-nowhere-to-be-found" } },
          },
        },
      });
      await ui.call("POST", "events/default/", {});
      await ui.page.setViewportSize({ width: 390, height: 844 });
      await ui.open("/events?state=dead");
      const message = ui.page.locator(".list .message").first();
      await message.waitFor();
      const [shown, whole, clamp] = await message.evaluate((one) => [
        one.clientHeight,
        one.scrollHeight,
        getComputedStyle(one).webkitLineClamp,
      ]);
      expect(whole).toBeGreaterThan(Number(shown));
      expect(clamp).toBe("2");
    });

    test("no message, input or output fills a page, however long it is", async () => {
      const many = Array.from(
        { length: 40 },
        (_, at) => ({ name: `p${at}`, value: "v".repeat(5_000) }),
      );
      const supplied = { parameters: [{ name: "out", valueFrom: { supplied: {} } }] };
      await ui.submit("wordy", {
        entrypoint: "main",
        arguments: { parameters: many },
        templates: [{
          name: "main",
          inputs: { parameters: many.map(({ name, value }) => ({ name, value })) },
          suspend: {},
          outputs: supplied,
        }],
      });
      await ui.page.setViewportSize({ width: 1280, height: 900 });
      await ui.open("/waiting?namespace=default&text=wordy");
      const entry = ui.page.locator(".inbox > li").first();
      await entry.getByRole("link", { name: "30 further inputs: open the step" }).waitFor();
      expect((await entry.boundingBox())?.height).toBeLessThan(3_500);
      await ui.call("PUT", "workflows/default/wordy/set", {
        nodeFieldSelector: "displayName=wordy",
        phase: "Failed",
        message: "word ".repeat(10_000),
        outputParameters: JSON.stringify({ out: "o".repeat(50_000) }),
      });
      await expect.poll(() => phase("wordy")).toBe("Failed");
      await ui.open("/workflows/default/wordy");
      const told = ui.page.locator(".long-words");
      await told.first().waitFor();
      for (const one of await told.all()) {
        expect((await one.boundingBox())?.height).toBeLessThan(300);
        // It is read from its beginning, also by keys.
        expect(await one.evaluate((box) => box.scrollTop)).toBe(0);
        expect(await one.innerText()).toMatch(/^(word word|It was)/);
      }
      await ui.page.getByText("50,000 characters").click();
      await ui.page.getByText("Only the first 20,000 characters are shown").waitFor();
      await ui.open("/?name=wordy");
      const row = ui.page.locator("tbody tr");
      await row.hover();
      expect((await row.boundingBox())?.height).toBeLessThan(350);
    });

    test("a template with hundreds of templates in it leaves room for the rest of its page", async () => {
      const templates = Array.from({ length: 300 }, (_, at) => ({ name: `t-${at}`, suspend: {} }));
      await ui.call("POST", "workflow-templates/default", {
        template: { metadata: { name: "crowd" }, spec: { entrypoint: "t-0", templates } },
      });
      await ui.page.setViewportSize({ width: 1280, height: 860 });
      await ui.open("/templates/default/crowd");
      const fact = ui.page.locator(".facts div", { hasText: "Templates in it" });
      await fact.getByText("t-39 … and 260 more").waitFor();
      expect((await fact.boundingBox())?.height).toBeLessThan(120);
    });

    test("the page to try the API fits a phone, and works below a prefix", async () => {
      await ui.page.setViewportSize({ width: 390, height: 844 });
      const proxy = await openPrefixProxy("/some/prefix");
      proxy.lead(ui.server.url);
      await ui.page.goto(`${proxy.url}/apidocs`);
      const version = ui.page.locator("details", { hasText: "/api/v1/version" });
      await version.locator("summary").click();
      await version.getByRole("button", { name: "Send" }).click();
      await expect.poll(() => version.locator("pre").innerText()).toMatch(
        /^GET \/api\/v1\/version\n200/,
      );
      await ui.page.evaluate(() => {
        for (const box of document.querySelectorAll("details")) box.open = true;
      });
      expect(await ui.page.evaluate(() => document.documentElement.scrollWidth)).toBe(390);
      await ui.page.goto("about:blank");
      proxy.close();
    });
  },
);
