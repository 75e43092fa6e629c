/** Steps are chosen in the views of a workflow, by clicks and by keys alone, and run again together. */
import axe from "axe-core";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { Workflow } from "../../../src/spec/manifest.ts";
import { browserMissing } from "../../support/argo_pages.ts";
import { openUi, type Ui } from "../../support/ui.ts";

const missing = browserMissing();
const task = (name: string, template: string, rest: object = {}) => ({ name, template, ...rest });
const shell = (text: string, rest: object = {}) => ({
  container: { image: "x", command: ["sh", "-c"], args: [text] },
  ...rest,
});
/** Of four independent tasks one fails; a loop, and a step that is tried twice. */
const TASKS = {
  entrypoint: "main",
  arguments: { parameters: [{ name: "how", value: "quietly" }] },
  templates: [
    {
      name: "main",
      dag: {
        tasks: [
          task("alpha", "say"),
          task("beta", "say"),
          task("gamma", "break"),
          task("after", "say", { depends: "alpha" }),
          task("each", "say", { withItems: [1, 2, 3, 4, 5, 6, 7] }),
          task("flaky", "flaky"),
        ],
      },
    },
    { name: "say", ...shell("echo said {{workflow.parameters.how}}") },
    { name: "break", ...shell("exit 3") },
    { name: "flaky", ...shell("test {{retries}} = 1", { retryStrategy: { limit: 1 } }) },
  ],
};

describe.skipIf(missing !== undefined)(
  `steps that are chosen for a retry${missing ? ` (skipped: ${missing})` : ""}`,
  () => {
    let ui: Ui;
    const view = () => ui.page.locator("#view");
    const box = (name: string | RegExp) => view().getByRole("checkbox", { name });
    const dialog = () => ui.page.getByRole("dialog");
    const status = (text: string) => ui.page.getByRole("status").getByText(text).waitFor();
    const head = (word: string) => ui.page.locator(".headline .phase", { hasText: word }).waitFor();

    async function nodeIds(name: string): Promise<(title: string) => string> {
      const { status } = await ui.call<Workflow>("GET", `workflows/default/${name}`);
      const nodes = Object.values(status?.nodes ?? {});
      return (title) => nodes.find(({ displayName }) => displayName === title)?.id ?? "";
    }

    /** How often the logs of a workflow have a line. */
    async function count(name: string, line: string): Promise<number> {
      const answer = await fetch(
        `${ui.server.url}/api/v1/workflows/default/${name}/log?logOptions.container=main`,
      );
      return (await answer.text()).split(line).length - 1;
    }

    /** Goes on with the Tab key until the focus is on something with this name. */
    async function tabTo(name: RegExp): Promise<void> {
      const focused = () =>
        ui.page.evaluate<string>(
          "document.activeElement.getAttribute('aria-label') ?? document.activeElement.textContent",
        );
      for (let i = 0; i < 60; i++) {
        await ui.page.keyboard.press("Tab");
        if (name.test(await focused())) return;
      }
      throw new Error(`Tab does not lead to ${name}`);
    }

    beforeAll(async () => {
      ui = await openUi();
      for (const name of ["clicked", "keyed", "fine"]) {
        const spec = name === "fine"
          ? {
            ...TASKS,
            templates: TASKS.templates.map((one) => ({
              ...one,
              ...(one.name === "break" && shell("true")),
            })),
          }
          : TASKS;
        await ui.submit(name, spec);
      }
    });
    afterAll(() => ui?.close());

    test("in the graph, the tree and the time line; the preview and the retry take exactly these", async () => {
      await ui.open("/workflows/default/clicked");
      await head("Failed");
      expect(await view().getByRole("checkbox").count()).toBe(0);
      await ui.button("Choose steps").click();
      await status("Choose the steps to run again");
      expect(await ui.button("Retry with these").isDisabled()).toBe(true);
      await box(/^beta, Succeeded/).click();
      await status("1 step chosen");
      await ui.page.getByRole("tab", { name: "Tree" }).click();
      expect(await box("Choose beta").isChecked()).toBe(true);
      // A loop stands for its items, a retry strategy for its attempts.
      await box("Choose each").check();
      await status("8 steps chosen");
      await box("Choose each").uncheck();
      await box("Choose flaky").check();
      await ui.page.getByRole("tab", { name: "Time line" }).click();
      await box(/^alpha, Succeeded/).click();
      await box(/^beta, Succeeded/).click();
      await status("2 steps chosen");
      await ui.button("Retry with these").click();
      await dialog().getByText("4 steps run again:").waitFor();
      expect((await dialog().locator(".steps li span:first-of-type").allTextContents()).slice(0, 4))
        .toEqual(["alpha", "flaky", "after", "beta"]);
      expect((await dialog().locator(".names li").allTextContents()).sort())
        .toEqual(["after", "alpha", "flaky", "gamma"]);
      // The same choice can still be changed where it is sent.
      await dialog().getByLabel("Find a step").fill("bet");
      await dialog().getByRole("checkbox", { name: /beta/ }).check();
      await dialog().getByText("5 steps run again:").waitFor();
      await dialog().getByRole("checkbox", { name: /beta/ }).uncheck();
      await dialog().getByText("4 steps run again:").waitFor();
      await dialog().getByLabel("how").fill("loudly");
      const idOf = await nodeIds("clicked");
      const [sent] = await Promise.all([
        ui.page.waitForRequest((request) => /\/clicked\/retry$/.test(request.url())),
        dialog().getByRole("button", { name: "Retry" }).click(),
      ]);
      expect(sent.postDataJSON()).toMatchObject({
        restartSuccessful: true,
        nodeFieldSelector: `id in (${idOf("flaky")},${idOf("alpha")})`,
        parameters: ["how=loudly"],
      });
      await ui.page.getByText("clicked runs again from where it failed.").waitFor();
      await expect.poll(() => count("clicked", "said loudly"), { timeout: 10_000 }).toBe(2);
      await head("Failed");
      // What was not chosen was not run again: beta, and the loop.
      expect(await count("clicked", "said quietly")).toBe(8);
      expect(ui.browser.troubles()).toEqual([]);
    });

    test("by keys alone, and axe finds nothing", async () => {
      await ui.open("/workflows/default/keyed");
      await head("Failed");
      await ui.button("Choose steps").focus();
      await ui.page.keyboard.press("Enter");
      await status("Choose the steps to run again");
      await tabTo(/^beta, Succeeded/);
      await ui.page.keyboard.press("Space");
      await status("1 step chosen");
      await ui.page.keyboard.press("Space");
      await status("Choose the steps to run again");
      await ui.page.keyboard.press("Enter");
      await status("1 step chosen");
      for (const [tab, count] of [["Tree", 1], ["Time line", 1]] as const) {
        await ui.page.getByRole("tab", { name: tab }).focus();
        await ui.page.keyboard.press("Enter");
        await box(/beta/).waitFor();
        expect(await view().getByRole("checkbox", { checked: true }).count()).toBe(count);
        await ui.page.evaluate(axe.source);
        const found = await ui.page.evaluate<string[]>(
          `axe.run(document, { runOnly: ["wcag2a", "wcag2aa"] }).then(({ violations }) => violations
            .map(({ id, nodes }) => id + " " + nodes.map(({ target }) => target.join(" "))))`,
        );
        expect(found, tab).toEqual([]);
      }
      // j goes from row to row, x chooses; in the time line too j moves on from the row that has the focus.
      await ui.page.getByRole("tab", { name: "Tree" }).click();
      for (let i = 0; i < 2; i++) await ui.page.keyboard.press("j");
      const row = await ui.page.evaluate<string>("document.activeElement.textContent");
      expect(row).toContain("alpha");
      await ui.page.keyboard.press("x");
      await status("2 steps chosen");
      await ui.page.getByRole("tab", { name: "Time line" }).click();
      for (let i = 0; i < 3; i++) await ui.page.keyboard.press("j");
      expect(await ui.page.evaluate("document.activeElement.getAttribute('aria-label')"))
        .toContain("beta");
      await ui.page.keyboard.press("Space");
      await status("1 step chosen");
      await ui.button("Retry with these").focus();
      await ui.page.keyboard.press("Enter");
      await dialog().getByText("3 steps run again:").waitFor();
      await dialog().getByRole("checkbox", { name: /alpha/, checked: true }).focus();
      await ui.page.keyboard.press("Escape");
      await dialog().waitFor({ state: "detached" });
      expect(await ui.page.evaluate("document.activeElement.textContent")).toBe("Retry with these");
    });

    test("of a workflow that succeeded too", async () => {
      await ui.open("/workflows/default/fine?view=tree");
      await head("Succeeded");
      await ui.button("Choose steps").click();
      await box("Choose alpha").check();
      await box("Choose gamma").check();
      await ui.button("Retry with these").click();
      await dialog().getByText("3 steps run again:").waitFor();
      expect((await dialog().locator(".names li").allTextContents()).sort())
        .toEqual(["after", "alpha", "gamma"]);
      await dialog().getByRole("button", { name: "Retry" }).click();
      await ui.page.getByText("fine runs again from where it failed.").waitFor();
      await head("Succeeded");
      // The choice ends with the retry.
      await box("Choose alpha").waitFor({ state: "detached" });
      expect(ui.browser.troubles()).toEqual([]);
    });
  },
);
