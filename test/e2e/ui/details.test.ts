/** What the pages say and do about one workflow, beyond the walk: manifest and editor, retries, other runs, events, logs. */
import { readFile } from "node:fs/promises";
import axe from "axe-core";
import type { Request } from "playwright-core";
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import { browserMissing } from "../../support/argo_pages.ts";
import { openUi, QUICK, type Ui, WAITS } from "../../support/ui.ts";

const missing = browserMissing();
const EVIL = `"><img src=x onerror="document.title='broken'">`;
const shell = (text: string) => ({
  container: { image: "x", command: ["sh", "-c"], args: [text] },
});
/** Two steps that succeed, one that fails, one that is not reached; `how` says what the first one writes. */
const STAGES = {
  entrypoint: "main",
  arguments: { parameters: [{ name: "how", value: "quietly" }] },
  templates: [
    {
      name: "main",
      steps: ["fetch", "build", "break", "publish"].map((name) => [{ name, template: name }]),
    },
    { name: "fetch", ...shell(`echo '{"level":"info","msg":"fetched","tries":2}'; echo plain`) },
    { name: "build", ...shell("echo built {{workflow.parameters.how}}") },
    { name: "break", ...shell("exit 3") },
    { name: "publish", ...shell("true") },
  ],
};

describe.skipIf(missing !== undefined)(
  `the details of a workflow${missing ? ` (skipped: ${missing})` : ""}`,
  () => {
    let ui: Ui;
    const shows = (text: string | RegExp) => ui.page.getByText(text).first().waitFor();
    const head = (word: string) => ui.page.locator(".headline .phase", { hasText: word }).waitFor();
    const editor = () => ui.page.locator(".code-host .cm-content");

    beforeAll(async () => {
      ui = await openUi();
      await ui.submit("stages", STAGES);
      await ui.call("POST", "workflow-templates/default", {
        template: { metadata: { name: "greet" }, spec: QUICK },
      });
    });
    afterAll(() => ui?.close());
    /** What has gone wrong. A manifest that is being written is refused until it is whole. */
    const troubles = () =>
      ui.browser.troubles().filter((one) => one !== "400 POST /api/v1/workflows/default/lint");
    afterEach(() => expect(troubles()).toEqual([]));

    /** Puts a text in place of the one in the editor, as somebody who pastes it. */
    async function write(text: string): Promise<void> {
      await editor().press("Control+a");
      await editor().press("Delete");
      await ui.page.keyboard.insertText(text);
    }

    test("title and description of the annotations stand above the facts, the title in lists too", async () => {
      const annotations = {
        "workflows.argoproj.io/title": "Report of January",
        "workflows.argoproj.io/description": "For the *board*.\nAsk the team reports.",
      };
      const spec = { entrypoint: "main", templates: [{ name: "main", suspend: {} }] };
      await ui.call("POST", "workflows/default", {
        workflow: { metadata: { name: "titled", annotations }, spec },
      });
      await ui.open("/workflows/default/titled");
      await ui.page.getByText("Report of January", { exact: true }).waitFor();
      await ui.page.getByText("For the *board*.").waitFor();
      await ui.open("/");
      await ui.page.getByRole("row", { name: /titled Report of January/ }).waitFor();
      await ui.call("DELETE", "workflows/default/titled");
    });

    test("the manifest is shown as YAML and JSON, as submitted and as run", async () => {
      await ui.call("POST", "workflows/default/submit", {
        resourceKind: "WorkflowTemplate",
        resourceName: "greet",
        submitOptions: { name: "greeted" },
      });
      await ui.open("/workflows/default/greeted?view=manifest");
      await editor().getByText("workflowTemplateRef").waitFor();
      // Neither the template's part nor what the service notes was submitted.
      const submitted = await editor().textContent();
      expect(submitted).not.toContain("templates:");
      expect(submitted).not.toContain("argoproj.io/phase");
      expect(submitted).toContain("argoproj.io/workflow-template");
      await ui.button("As run").click();
      await editor().getByText("templates").first().waitFor();
      await ui.button("JSON").click();
      await editor().getByText('"templates"').first().waitFor();
      expect(await editor().getAttribute("aria-readonly")).toBe("true");
      await ui.page.evaluate(axe.source);
      for (const colorScheme of ["light", "dark"] as const) {
        await ui.page.emulateMedia({ colorScheme });
        const found = await ui.page.evaluate<string[]>(
          `axe.run(document, { runOnly: ["wcag2a", "wcag2aa"] }).then(({ violations }) => violations
            .filter(({ impact }) => impact === "serious" || impact === "critical")
            .map(({ id, nodes }) => id + " " + nodes.map(({ target }) => target.join(" "))))`,
        );
        expect(found, colorScheme).toEqual([]);
      }
    });

    test("a mistake is told at its place while it is written, and completion comes from the schema", async () => {
      await ui.open("/submit?from=manifest");
      await write("metadata:\n  generateName: a-\nspec:\n  entrypont: main\n");
      await shows("Line 4: “entrypont” is not known here. Do you mean “entrypoint”?");
      await editor().locator(".cm-lintRange-error", { hasText: "entrypont" }).waitFor();
      expect(await ui.button("Submit").isDisabled()).toBe(true);
      await write("metadata:\n  generateName: [a\n");
      await shows(/^Line \d+:/);
      await write("metadata:\n  generateName: a-\nspec:\n  entrypoint: nowhere\n  templates: []\n");
      await ui.page.locator("#verdict").getByText(/nowhere/).waitFor();
      await write("metadata:\n  generateName: a-\nspec:\n  ");
      await editor().press("Control+End");
      await ui.page.keyboard.type("entry");
      await ui.page.locator(".cm-tooltip-autocomplete").getByText("entrypoint").waitFor();
      // The editor takes no Enter for a proposal that was not there to be read.
      await ui.page.waitForTimeout(150);
      await ui.page.keyboard.press("Enter");
      await ui.page.keyboard.type("main");
      expect(await editor().innerText()).toContain("entrypoint: main");
    });

    test("keys in the editor write, and do not lead away", async () => {
      await ui.open("/submit?from=manifest");
      await editor().waitFor();
      await editor().press("Control+End");
      await ui.page.keyboard.type("# gw");
      expect(ui.page.url()).toContain("/submit");
      expect(await editor().innerText()).toContain("# gw");
      // It stays over a reload.
      await ui.page.reload();
      await editor().getByText("# gw").waitFor();
      await editor().press("Control+a");
      await ui.page.keyboard.type("x: 1");
      expect(await editor().innerText()).toBe("x: 1");
      // Tab leads on.
      await editor().focus();
      await ui.page.keyboard.press("Tab");
      expect(await ui.page.evaluate("document.activeElement.shadowRoot === null")).toBe(true);
    });

    test("a dry run shows what would be made, and makes nothing", async () => {
      const count = async () =>
        (await ui.call<{ items: unknown[] }>("GET", "workflows/default")).items.length;
      const before = await count();
      await ui.open("/submit?from=manifest");
      await write(JSON.stringify({ metadata: { generateName: "dry-" }, spec: WAITS }));
      await shows("The manifest is valid.");
      await ui.button("Show what would be made").click();
      const preview = ui.page.locator(".preview");
      await preview.getByText(/^This would be made: dry-\w+$/).waitFor();
      await preview.locator(".cm-content").getByText("entrypoint").waitFor();
      await ui.open("/submit?template=greet");
      await ui.button("Show what would be made").click();
      await preview.getByText(/^This would be made: greet-\w+$/).waitFor();
      expect(await count()).toBe(before);
      expect(troubles()).toEqual([]);
      // A refusal stays readable.
      await ui.page.route(
        /\/workflows\/default\/submit/,
        (route) => route.fulfill({ status: 403, json: { code: 7, message: "not on Sundays" } }),
      );
      await ui.button("Show what would be made").click();
      await ui.page.getByRole("alert").getByText("not on Sundays").waitFor();
      await ui.page.unroute(/\/workflows\/default\/submit/);
      ui.browser.troubles();
    });

    test("without the editor a plain field does", async () => {
      await ui.page.route(
        /\/ui\/assets\/.*\.js$/,
        (route) => /editor/.test(route.request().url()) ? route.abort() : route.continue(),
      );
      // The verdict about what was there before comes last, and is not one about what was written meanwhile.
      const isBefore = (asked: Request) => asked.postData()?.includes('"plain"') === false;
      await ui.page.route(/\/lint$/, async (route) => {
        if (isBefore(route.request())) await new Promise((done) => setTimeout(done, 2_000));
        await route.continue();
      });
      const late = ui.page.waitForResponse((answer) =>
        answer.url().endsWith("/lint") && isBefore(answer.request())
      );
      await ui.open("/submit?from=manifest");
      const field = ui.page.locator("textarea");
      await field.fill(JSON.stringify({ metadata: { name: "plain" }, spec: QUICK }));
      await field.blur();
      await shows("The manifest is valid.");
      await late;
      await ui.page.waitForTimeout(200);
      expect(await ui.page.locator("#verdict").innerText()).toBe("The manifest is valid.");
      await ui.page.unroute(/\/lint$/);
      await ui.button("Submit").click();
      await ui.page.waitForURL(/\/workflows\/default\/plain$/);
      await ui.page.unroute(/\/ui\/assets\/.*\.js$/);
      ui.browser.troubles();
    });

    test("a retry says which steps run again, from chosen steps and with parameters", async () => {
      await ui.open("/workflows/default/stages");
      await head("Failed");
      await ui.button("Retry").click();
      const dialog = ui.page.getByRole("dialog");
      await dialog.getByText("1 step runs again:").waitFor();
      const names = () => dialog.locator(".names li").allTextContents();
      expect(await names()).toEqual(["break"]);
      await dialog.getByLabel("Run again").selectOption("What failed, and steps that I choose");
      await dialog.getByLabel("Find a step").fill("buil");
      await dialog.getByRole("checkbox", { name: /build/ }).check();
      await dialog.getByText("2 steps run again:").waitFor();
      expect(await names()).toEqual(["build", "break"]);
      await dialog.getByLabel("how").fill("loudly");
      await dialog.getByRole("button", { name: "Retry" }).click();
      await shows("stages runs again from where it failed.");
      await head("Failed");
      await ui.page.getByRole("tab", { name: "Logs" }).click();
      await shows("built loudly");
    });

    test("the parameters of a template can be changed for a retry and for another run", async () => {
      await ui.call("POST", "workflow-templates/default", {
        template: { metadata: { name: "stages" }, spec: STAGES },
      });
      await ui.call("POST", "workflows/default/submit", {
        resourceKind: "WorkflowTemplate",
        resourceName: "stages",
        submitOptions: { name: "staged" },
      });
      await ui.open("/workflows/default/staged");
      await head("Failed");
      const dialog = ui.page.getByRole("dialog");
      await ui.button("Retry").click();
      await dialog.getByLabel("how").waitFor();
      await ui.page.keyboard.press("Escape");
      await ui.button("Resubmit").click();
      await dialog.getByLabel("how").fill("twice");
      await dialog.getByRole("button", { name: "Resubmit" }).click();
      await shows(/staged was submitted again as/);
      await ui.page.waitForURL(/\/stage[\w-]+\w$/);
      await head("Failed");
      await ui.page.getByRole("tab", { name: "Logs" }).click();
      await shows("built twice");
    });

    test("a retry that the server refuses is told before it is tried", async () => {
      await ui.page.route(
        /\/retry\/plan$/,
        (route) => route.fulfill({ status: 400, json: { code: 9, message: "no such luck" } }),
      );
      await ui.open("/workflows/default/stages");
      await ui.button("Retry").click();
      const dialog = ui.page.getByRole("dialog");
      await dialog.getByText("no such luck").waitFor();
      expect(await dialog.getByRole("button", { name: "Retry" }).isDisabled()).toBe(true);
      await ui.page.unroute(/\/retry\/plan$/);
      ui.browser.troubles();
    });

    test("a step that takes outputs is resumed with them; another is made to fail with a message", async () => {
      const answer = (name: string) => ({
        name,
        template: "ask",
        arguments: { parameters: [] },
      });
      const spec = {
        entrypoint: "main",
        templates: [
          { name: "main", steps: [[answer("first")], [answer("second")]] },
          {
            name: "ask",
            suspend: {},
            inputs: { parameters: [{ name: "verdict", value: "no", enum: ["yes", "no"] }] },
            outputs: {
              parameters: [
                { name: "verdict", valueFrom: { supplied: {} } },
                { name: "reason", valueFrom: { supplied: {} } },
              ],
            },
          },
        ],
      };
      await ui.submit("asks", spec);
      await ui.open("/workflows/default/asks");
      await shows(/Step “first” has been waiting for a call/);
      const dialog = ui.page.getByRole("dialog");
      await ui.button("Resume").first().click();
      await dialog.getByLabel("verdict").selectOption("yes");
      await dialog.getByLabel("reason").fill(`because ${EVIL}`);
      await dialog.getByRole("button", { name: "Resume" }).click();
      await shows("“first” of asks goes on.");
      await shows(/Step “second” has been waiting for a call/);
      const { status } = await ui.call<{
        status: {
          nodes: Record<
            string,
            { displayName: string; outputs?: { parameters: { name: string; value: string }[] } }
          >;
        };
      }>("GET", "workflows/default/asks");
      const first = Object.values(status.nodes).find((node) => node.displayName === "first");
      const values = first?.outputs?.parameters.map(({ name, value }) => [name, value]);
      expect(values).toEqual([["verdict", "yes"], ["reason", `because ${EVIL}`]]);
      await ui.button("Fail it …").first().click();
      await dialog.getByRole("heading", { name: "Fail “second” of asks?" }).waitFor();
      await dialog.getByLabel("Message (optional)").fill("the board said no");
      await dialog.getByRole("button", { name: "Fail it" }).click();
      await shows("“second” of asks has failed.");
      await head("Failed");
      await shows(/the board said no/);
      expect(await ui.page.title()).not.toBe("broken");
    });

    test("other runs of the template stand below, with how long they took", async () => {
      for (const name of ["run-1", "run-2"]) {
        await ui.call("POST", "workflows/default/submit", {
          resourceKind: "WorkflowTemplate",
          resourceName: "greet",
          submitOptions: { name },
        });
      }
      await ui.open("/workflows/default/run-2");
      const runs = ui.page.getByRole("region", { name: "The newest runs of greet" });
      await runs.getByText("run-2 (this one)").waitFor();
      await runs.getByRole("row").filter({ hasText: "run-1" }).getByText(/^[\d.]+ (ms|s)$/)
        .waitFor();
      await runs.getByRole("link", { name: "run-1" }).click();
      await ui.page.waitForURL(/run-1$/);
      await runs.getByText("run-1 (this one)").waitFor();
    });

    test("the events of a pod are in its panel", async () => {
      const { status } = await ui.call<
        { status: { nodes: Record<string, { displayName: string }> } }
      >(
        "GET",
        "workflows/default/stages",
      );
      const [id] =
        Object.entries(status.nodes).find(([, { displayName }]) => displayName === "break") ?? [];
      await ui.open(`/workflows/default/stages?node=${id}`);
      await ui.page.getByText("Events of the pod").click();
      await ui.page.locator(".pod-events li").first().waitFor();
      await ui.page.locator(".pod-events").getByText(/exit code 3|exited/i).first().waitFor();
    });

    test("logs: fields of JSON lines, a search for one, and everything to download", async () => {
      await ui.open("/workflows/default/stages?view=logs");
      const lines = ui.page.locator("#view .lines > div");
      await lines.getByText('{"level":"info"').first().waitFor();
      await ui.page.locator("#view").getByLabel("Show fields of JSON lines").check();
      await lines.filter({ hasText: "fetched" }).getByText("tries=").first().waitFor();
      await ui.page.locator("#view").getByLabel("Search the lines").fill("tries=2");
      await lines.filter({ hasText: "plain" }).first().waitFor({ state: "detached" });
      await lines.filter({ hasText: "fetched" }).first().waitFor();
      const [file] = await Promise.all([
        ui.page.waitForEvent("download"),
        ui.page.locator("#view").getByRole("button", { name: "Download" }).click(),
      ]);
      expect(file.suggestedFilename()).toBe("stages.log");
      const text = await readFile(await file.path(), "utf8");
      expect(text).toContain("fetched");
      expect(text).toContain("plain");
    });

    test("what users write stays text in the editor, in plans, runs and logs", async () => {
      const name = "evil";
      const spec = {
        entrypoint: "main",
        arguments: { parameters: [{ name: "p", value: EVIL }] },
        templates: [
          { name: "main", steps: [[{ name: "loop", template: "x", withItems: [EVIL] }]] },
          {
            name: "x",
            ...shell(`echo '{"msg":"<img src=x>","a":"<b>"}'; exit 1`),
          },
        ],
      };
      await ui.call("POST", "workflows/default", { workflow: { metadata: { name }, spec } });
      await ui.open(`/workflows/default/${name}?view=manifest`);
      await head("Failed");
      await editor().getByText("onerror").first().waitFor();
      await ui.button("Retry").click();
      await ui.page.getByRole("dialog").getByText("1 step runs again:").waitFor();
      expect(await ui.page.title()).not.toBe("broken");
      await ui.open(`/workflows/default/${name}?view=logs`);
      await ui.page.locator("#view").getByLabel("Show fields of JSON lines").check();
      await ui.page.locator("#view .lines").getByText("<img src=x>").waitFor();
      expect(await ui.page.locator("main img").count()).toBe(0);
      expect(await ui.page.title()).not.toBe("broken");
    });

    test("what is not seen in a text is written out: it can't reorder the page or look like something else", async () => {
      const value = "invoice\u202efdp.exe ad\u200bmin";
      const print = "printf 'safe \\342\\200\\256 fake\\033[31mred\\033[0m\\n'; exit 1";
      const steps = [[{ name: "loop", template: "x", withItems: [value] }]];
      await ui.submit("unseen", {
        entrypoint: "main",
        arguments: { parameters: [{ name: "p", value }] },
        templates: [{ name: "main", steps }, { name: "x", ...shell(print) }],
      });
      await ui.open("/workflows/default/unseen");
      await head("Failed");
      const pod = ui.page.locator(".log-tail").getByText("safe \\u202e fakered");
      await pod.waitFor();
      for (const view of ["graph", "tree", "time", "logs", "manifest"]) {
        await ui.open(`/workflows/default/unseen?view=${view}`);
        if (view === "manifest") await editor().getByText("invoice").first().waitFor();
        else await shows(view === "logs" ? "safe \\u202e fakered" : /invoice\\u202efdp/);
        const found = await ui.page.evaluate<string[]>(`(() => {
          const unseen = /[\\p{Bidi_C}\\u200b\\u001b]/u;
          const walker = document.createTreeWalker(document, NodeFilter.SHOW_ALL);
          const found = [];
          for (let node = walker.nextNode(); node; node = walker.nextNode()) {
            if (node.nodeType === 3 && unseen.test(node.data)) found.push(node.data);
            for (const { name, value } of node.attributes ?? []) {
              if (unseen.test(value)) found.push(name + "=" + value);
            }
          }
          return found;
        })()`);
        expect(found, view).toEqual([]);
      }
      await ui.open("/?columns=param:p");
      await shows("invoice\\u202efdp.exe ad\\u200bmin");
    });

    test.each([360, 1280, 1920])("nothing is wider than a screen of %i px", async (width) => {
      await ui.page.setViewportSize({ width, height: 800 });
      for (
        const path of [
          "/workflows/default/run-2",
          "/workflows/default/stages?view=manifest",
          "/submit?from=manifest",
          "/submit?template=greet",
        ]
      ) {
        await ui.open(path);
        await ui.page.locator("h1").waitFor();
        await ui.page.waitForTimeout(500);
        const more = await ui.page.evaluate<number>(
          "document.documentElement.scrollWidth - innerWidth",
        );
        expect(more, path).toBeLessThanOrEqual(0);
      }
      await ui.page.setViewportSize({ width: 1280, height: 900 });
    });
  },
);
