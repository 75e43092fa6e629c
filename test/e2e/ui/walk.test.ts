/** The asynchronous job by clicks alone, and everything that can be done with a workflow. */
import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import { browserMissing } from "../../support/argo_pages.ts";
import { ASYNC_JOB, FAILS, LONG, openUi, QUICK, type Ui, WAITS } from "../../support/ui.ts";

const missing = browserMissing();
const PATIENCE = { timeout: 20_000, interval: 50 };

/** @throws {Error} when it fails */
const runInShell = (command: string) => promisify(execFile)("sh", ["-c", command]);

describe.skipIf(missing !== undefined)(
  `what people do with the pages${missing ? ` (skipped: ${missing})` : ""}`,
  () => {
    let ui: Ui;
    const phase = async (name: string) =>
      (await ui.call<{ status: { phase?: string } }>("GET", `workflows/default/${name}`)).status
        .phase;
    const link = (name: string) => ui.page.getByRole("link", { name, exact: true });
    const shows = (text: string | RegExp) => ui.page.getByText(text).first().waitFor();
    /** The phase in the head of a workflow's page. */
    const head = (word: string) => ui.page.locator(".headline .phase", { hasText: word }).waitFor();

    beforeAll(async () => {
      ui = await openUi();
    });
    afterAll(() => ui?.close());
    afterEach(() => expect(ui.browser.troubles()).toEqual([]));

    test("the asynchronous job: submitted, seen waiting, found in the inbox, resumed, seen to its end", async () => {
      await ui.open("/");
      await shows("No workflows yet");
      await link("Submit a workflow").first().click();
      await ui.button("A manifest").click();
      const manifest = { metadata: { name: "job" }, spec: ASYNC_JOB };
      await ui.page.locator(".code-host").getByRole("textbox", { name: "Manifest (YAML or JSON)" })
        .press("Control+a");
      await ui.page.keyboard.press("Delete");
      await ui.page.keyboard.insertText(JSON.stringify(manifest));
      await shows("The manifest is valid.");
      await ui.button("Submit").click();
      await ui.page.waitForURL(/\/workflows\/default\/job$/);
      // Nothing is clicked: the step that waits shows itself, with what it got and how to call.
      await shows(/Step “wait” has been waiting for a call/);
      const panel = ui.page.getByRole("complementary");
      await panel.getByText("job-4711").waitFor();
      await ui.page.getByText("Resume it or make it fail from a program").click();
      await shows(/curl -X PUT .*\/api\/v1\/workflows\/default\/job\/resume/);
      await link("Waiting").click();
      await link("wait job in default").waitFor();
      // Whoever has only the id of the job finds the step by it.
      const search = ui.page.getByLabel("Name or input contains");
      await search.fill("job-4712");
      await shows("No waiting step matches the filters");
      await search.fill("JOB-4711");
      await ui.page.waitForURL(/\?text=JOB-4711$/);
      await link("wait job in default").waitFor();
      await ui.button("Resume").click();
      await shows("No waiting step matches the filters");
      await search.fill("");
      await shows("Nothing is waiting");
      await link("Workflows").click();
      await link("job").click();
      await head("Succeeded");
      await shows(/Succeeded after .*: 3 steps done\./);
      await ui.page.getByRole("tab", { name: "Logs" }).click();
      await shows("finished");
    });

    test("the copied call resumes the step", async () => {
      await ui.submit("called", WAITS);
      await ui.open("/workflows/default/called");
      await ui.page.getByText("Resume it or make it fail from a program").click();
      const command = await ui.page.locator(".curl code").first().innerText();
      await runInShell(command);
      await head("Succeeded");
    });

    test("the copied call supplies the outputs that the step takes; another makes it fail", async () => {
      const parameters = [{ name: "verdict", valueFrom: { supplied: {} } }];
      await ui.submit("answered", {
        entrypoint: "main",
        templates: [{ name: "main", suspend: {}, outputs: { parameters } }],
      });
      await ui.submit("refused", WAITS);
      const copied = async (name: string, at: number) => {
        await ui.open(`/workflows/default/${name}`);
        await ui.page.getByText("Resume it or make it fail from a program").click();
        return await ui.page.locator(".curl code").nth(at).innerText();
      };
      await runInShell(await copied("answered", 0));
      await head("Succeeded");
      await ui.page.locator("[data-node=answered]").click();
      await ui.page.getByRole("complementary").getByText("VALUE").waitFor();
      await runInShell(await copied("refused", 1));
      await head("Failed");
      await shows("MESSAGE");
    });

    test("URLs for it need no login, and the copied call resumes the step", async () => {
      await ui.submit("by-url", WAITS);
      await ui.open("/workflows/default/by-url");
      await ui.page.getByText("Resume it or make it fail from a program").click();
      await ui.button("Make URLs that need no login").click();
      await shows(/whoever has these URLs can resume this step or make it fail/);
      const command = await ui.page.locator(".curl code").nth(2).innerText();
      expect(await ui.page.locator(".curl code").nth(3).innerText())
        .toMatch(/^curl -X POST http:\S+\/callback\/stop\/\S+ -d /);
      expect(command).toMatch(/^curl -X POST http:\S+\/callback\/resume\/\S+$/);
      await runInShell(command);
      await head("Succeeded");
    });

    test("a failure is told with step, exit code, attempts, rule and last lines; a retry runs again what failed", async () => {
      await ui.submit("broken", FAILS);
      await ui.open("/workflows/default/broken");
      await shows("Step “break” failed with exit code 3.");
      await shows(/It was tried 2 times/);
      await shows(/Nothing lets “broken” continue after a failure/);
      await ui.page.locator(".log-tail", { hasText: "the printer burns" }).waitFor();
      await ui.page.getByRole("tab", { name: "Tree" }).click();
      await ui.page.locator(".tree li", { hasText: "2 attempts" }).waitFor();
      await ui.button("Retry").click();
      // Both attempts are one step.
      await ui.page.getByRole("dialog").getByText("1 step runs again:").waitFor();
      await ui.page.getByRole("dialog").getByRole("button", { name: "Retry" }).click();
      await shows("broken runs again from where it failed.");
      await head("Failed");
    });

    test("the panel that opens by itself can be closed, and keys go on at its step", async () => {
      await ui.submit("closed", WAITS);
      await ui.open("/workflows/default/closed");
      const panel = ui.page.getByRole("complementary");
      const title = (words: string) => panel.getByRole("heading", { name: words }).waitFor();
      await title("closed");
      await panel.getByRole("button", { name: "Close" }).press("Enter");
      await title("The whole workflow");
      const focused = () =>
        ui.page.evaluate(() => document.activeElement?.getAttribute("data-node"));
      await expect.poll(focused, PATIENCE).toBe("closed");
      await ui.page.reload();
      await title("The whole workflow");
      await ui.button("Show the step").click();
      await title("closed");
    });

    test("keys go on at the page when the pressed button goes, and begin a dialog at its field", async () => {
      await ui.submit("pressed", WAITS);
      await ui.open("/workflows/default/pressed");
      const actions = ui.page.getByRole("toolbar", { name: "Actions" });
      await actions.getByRole("button", { name: "Suspend" }).press("Enter");
      await head("Suspended");
      await expect.poll(() => ui.page.evaluate(() => document.activeElement?.id), PATIENCE)
        .toBe("page");
      await actions.getByRole("button", { name: "Stop" }).press("Enter");
      await ui.page.getByRole("dialog").waitFor();
      await ui.page.keyboard.type("enough");
      expect(await ui.page.getByLabel("Message (optional)").inputValue()).toBe("enough");
      await ui.page.keyboard.press("Escape");
    });

    test("the tree tells how long a step has been running, second by second", async () => {
      await ui.submit("counting", LONG);
      await ui.open("/workflows/default/counting?view=tree");
      const span = ui.page.locator(".tree li .faint");
      await expect.poll(() => span.innerText(), PATIENCE).toMatch(/^\d+ s$/);
      const before = await span.innerText();
      await expect.poll(() => span.innerText(), PATIENCE).not.toBe(before);
      await ui.call("PUT", "workflows/default/counting/terminate", {});
    });

    test("a view is kept and forgotten by keys alone", async () => {
      await ui.open("/?namespace=nowhere");
      const name = ui.page.getByPlaceholder("Name of the view");
      await ui.button("Save this view").press("Enter");
      await name.waitFor();
      await ui.page.keyboard.press("Escape");
      await ui.button("Save this view").press("Enter");
      await name.waitFor();
      await ui.page.keyboard.type("mine");
      await ui.page.keyboard.press("Enter");
      await link("mine").waitFor();
      await ui.page.keyboard.press("Tab");
      await ui.page.keyboard.press("Tab");
      await ui.page.keyboard.press("Enter");
      await link("mine").waitFor({ state: "detached" });
    });

    test("what the browser does not let a page copy is copied another way, and the focus stays", async () => {
      await ui.submit("copied", WAITS);
      await ui.open("/workflows/default/copied");
      const session = await ui.page.context().newCDPSession(ui.page);
      await session.send("Browser.setPermission", {
        permission: { name: "clipboard-write" },
        setting: "denied",
      });
      const copy = ui.page.locator(".headline").getByRole("button", { name: /Copy|Copied/ });
      await copy.press("Enter");
      await copy.getByText("Copied").waitFor();
      expect(await copy.evaluate((one) => one === document.activeElement)).toBe(true);
      await session.send("Browser.resetPermissions");
      await ui.open("/");
      await ui.page.getByLabel("Name contains").press("Control+v");
      expect(await ui.page.getByLabel("Name contains").inputValue()).toBe("copied");
    });

    test("suspend, resume, stop with a message, resubmit, terminate, delete", async () => {
      await ui.submit("acted", LONG);
      await ui.open("/workflows/default/acted");
      const actions = ui.page.getByRole("toolbar", { name: "Actions" });
      const dialog = ui.page.getByRole("dialog");
      const act = (name: string) => actions.getByRole("button", { name }).click();
      await act("Suspend");
      await head("Suspended");
      expect(await actions.getByRole("button", { name: "Suspend" }).count()).toBe(0);
      // Sooner, a click at the same place would be the second half of a double click.
      await ui.page.waitForTimeout(500);
      await act("Resume");
      await head("Running");
      await act("Stop");
      await dialog.getByLabel("Message (optional)").fill("not today");
      await dialog.getByRole("button", { name: "Stop" }).click();
      await head("Failed");
      await act("Resubmit");
      await dialog.getByRole("button", { name: "Resubmit" }).click();
      await ui.page.waitForURL(/\/acted-\w+$/);
      const copy = ui.page.url().split("/").at(-1) ?? "";
      const tail = ui.page.waitForResponse(/\/log\?.*tailLines/);
      await act("Terminate");
      await dialog.getByRole("button", { name: "Terminate" }).click();
      // The page reads the last lines of the log, which it can't after the deletion.
      await (await tail).finished();
      await act("Delete");
      await dialog.getByRole("button", { name: "Delete" }).click();
      await shows(`${copy} is deleted.`);
      const rows = ui.page.getByRole("row");
      await rows.getByRole("link", { name: "acted", exact: true }).waitFor();
      expect(await rows.getByRole("link", { name: copy, exact: true }).count()).toBe(0);
    });

    test("a double click in the inbox resumes one step, not the one that comes in its place too", async () => {
      for (const name of ["twice-1", "twice-2"]) await ui.submit(name, WAITS, "twice");
      await ui.open("/waiting?namespace=twice");
      // Events with times of their own: the machine may be slow. The place is read in the same moment: the page may still grow.
      const click = (place: string, timeStamp: number) =>
        ui.page.evaluate<{ x: number; y: number }>(
          `(() => {
            const { x, y } = ${place};
            const click = new MouseEvent("click", { bubbles: true, detail: 1, clientX: x, clientY: y });
            Object.defineProperty(click, "timeStamp", { value: ${timeStamp} });
            document.elementFromPoint(x, y).dispatchEvent(click);
            return { x, y };
          })()`,
        );
      // Both: the second one may come first. The buttons come once the page knows what its visitor may do.
      await ui.button("Resume").nth(1).waitFor();
      const place = await click(
        `((button) => {
          button.scrollIntoView({ block: "center" });
          const { x, y } = button.getBoundingClientRect();
          return { x: x + 20, y: y + 10 };
        })([...document.querySelectorAll("button")].find((one) => one.textContent === "Resume"))`,
        1_000,
      );
      await shows("“twice-1” goes on.");
      await ui.page.locator(".inbox > li", { hasText: "twice-1" }).waitFor({ state: "detached" });
      await click(JSON.stringify(place), 1_200);
      expect(await ui.button("Resume").first().isEnabled()).toBe(true);
      await ui.button("Resume").click();
      await shows("“twice-2” goes on.");
    });

    test("several at once: what does not fit is disabled, and each refusal is told", async () => {
      await ui.submit("ends", QUICK);
      await ui.submit("waits-1", WAITS);
      await ui.submit("waits-2", WAITS);
      await ui.open("/?name=waits");
      await link("waits-2").waitFor();
      await ui.page.getByLabel("Choose all that are shown").check();
      const batch = ui.page.getByRole("toolbar", { name: "With the chosen workflows" });
      expect(await batch.getByRole("button", { name: "Retry" }).isDisabled()).toBe(true);
      await batch.getByRole("button", { name: "Terminate" }).click();
      await ui.page.getByRole("dialog").getByRole("button", { name: "Terminate" }).click();
      await shows("2 workflows terminated.");
      await expect.poll(() => Promise.all([phase("waits-1"), phase("waits-2")]), PATIENCE)
        .toEqual(["Failed", "Failed"]);
    });

    test("a form is made from the parameters of a template", async () => {
      await ui.call("POST", "workflow-templates/default", {
        template: {
          metadata: { name: "greet" },
          spec: {
            ...QUICK,
            arguments: {
              parameters: [
                { name: "who", enum: ["ada", "bob"], description: "Whom" },
                { name: "how", value: "loudly" },
              ],
            },
          },
        },
      });
      await ui.open("/submit");
      await ui.page.locator("select").filter({ hasText: "Choose a template" }).selectOption(
        "greet",
      );
      await ui.page.locator("select[name=who]").selectOption("bob");
      expect(await ui.page.locator("[name=how]").inputValue()).toBe("loudly");
      await ui.button("Submit").click();
      await ui.page.waitForURL(/\/workflows\/default\/greet-\w+$/);
      await head("Succeeded");
      await shows("bob");
    });
  },
);
