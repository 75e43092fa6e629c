/** Stored manifests are created, updated and deleted in the pages, and nobody overwrites another's change unseen. */
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import { browserMissing } from "../../support/argo_pages.ts";
import { openUi, QUICK, type Ui } from "../../support/ui.ts";

const missing = browserMissing();

interface Stored {
  metadata: { name: string; resourceVersion: string; annotations?: Record<string, string> };
  spec: { timezone?: string; schedules?: string[]; entrypoint?: string };
  status?: { succeeded?: number };
}

describe.skipIf(missing !== undefined)(
  `stored manifests${missing ? ` (skipped: ${missing})` : ""}`,
  () => {
    let ui: Ui;
    const link = (name: string) => ui.page.getByRole("link", { name, exact: true });
    const shows = (text: string | RegExp) => ui.page.getByText(text).first().waitFor();
    const editor = () => ui.page.getByRole("textbox", { name: "Manifest (YAML or JSON)" });
    const valid = () => shows("The manifest is valid.");
    const SERVER_REFUSED = /^4(00|09) (POST|PUT) /;

    beforeAll(async () => {
      ui = await openUi();
    });
    afterAll(() => ui?.close());
    afterEach(async () => {
      await ui.page.evaluate("sessionStorage.clear()");
      expect(ui.browser.troubles().filter((one) => !SERVER_REFUSED.test(one))).toEqual([]);
    });

    /** Puts a text in the place of what the editor holds. */
    async function write(text: string): Promise<void> {
      await ui.page.locator(".cm-content").click();
      await ui.page.keyboard.press("Control+A");
      await ui.page.keyboard.press("Delete");
      await ui.page.keyboard.insertText(text);
    }

    /** Opens the editor of a stored manifest, and waits until it can be used. */
    async function edit(query: Record<string, string>): Promise<void> {
      await ui.open(`/edit?${new URLSearchParams(query)}`);
      expect(await ui.page.locator("nav a[aria-current=true]").count()).toBe(1);
      await ui.page.locator(".cm-content").waitFor();
      await valid();
    }

    test.for([
      ["/templates", "New template", "templates/default/my-template", "template"],
      [
        "/templates?scope=cluster",
        "New cluster template",
        "templates/my-template",
        "template",
      ],
      ["/cron", "New cron workflow", "cron/default/my-cron", "cron workflow"],
      ["/events/bindings", "New event binding", "events/bindings/default/my-binding", "binding"],
    ])("at %s the example is created, updated and deleted", async ([list, button, path, kind]) => {
      await ui.open(list ?? "");
      // One stands above the empty list, one in its place.
      await expect.poll(() => link(button ?? "").count(), { timeout: 20_000 }).toBe(2);
      await link(button ?? "").first().click();
      await ui.page.getByRole("heading", { name: button ?? "", exact: true }).waitFor();
      await valid();
      await ui.button("Create").click();
      await ui.page.waitForURL(`${ui.url}/${path}`);
      await shows(/my-\w+ is stored\./);
      await link("Edit").click();
      await ui.page.getByRole("heading", { name: /^Edit the .* my-/ }).waitFor();
      await valid();
      const text = await ui.page.locator(".cm-content").innerText();
      expect(text).not.toMatch(/resourceVersion|uid|creationTimestamp/);
      await ui.page.locator(".cm-content").click();
      await ui.page.keyboard.press("Control+Home");
      await ui.page.keyboard.press("ArrowDown");
      await ui.page.keyboard.insertText("  labels:\n    team: blue\n");
      await valid();
      await ui.button("Update").click();
      await ui.page.waitForURL(`${ui.url}/${path}`);
      await shows("team: blue");
      await ui.button("Delete").click();
      await ui.page.getByRole("dialog").getByRole("button", { name: "Delete" }).click();
      await shows(new RegExp(`The (event )?${kind} my-\\w+ is deleted\\.`));
    });

    test("the examples go together: the event starts the template", async () => {
      for (const kind of ["WorkflowTemplate", "WorkflowEventBinding"]) {
        await edit({ kind });
        await ui.button("Create").click();
        await shows(/my-\w+ is stored\./);
      }
      await ui.call("POST", "events/default/build", { action: "done", message: "well" });
      await ui.open("/?template=my-template");
      await ui.page.getByRole("link", { name: /^my-template-/ }).waitFor();
    });

    test("what the server refuses is told with its line, and cannot be stored", async () => {
      await edit({ kind: "CronWorkflow" });
      await write(`metadata:
  name: wrong
spec:
  schedules:
    - 61 * * * *
  workflowSpec:
    entrypoint: main
    templates:
      - name: main
        suspend: {}
`);
      await shows(/^Line 5: cron schedule 61 \* \* \* \* is malformed/);
      expect(await ui.button("Create").isDisabled()).toBe(true);
      // It stays over a reload, and the example comes back.
      await ui.page.reload();
      await shows(/^Line 5: cron schedule/);
      await ui.button("Begin with the example again").click();
      await valid();
      await ui.page.getByText("my-cron").waitFor();
    });

    test("a name that is taken is refused in the server's words, and the text stays", async () => {
      const template = { metadata: { name: "taken" }, spec: QUICK };
      await ui.call("POST", "workflow-templates/default", { template });
      await edit({ kind: "WorkflowTemplate" });
      await write(JSON.stringify(template, null, 2));
      await valid();
      await ui.button("Create").click();
      const alert = ui.page.getByRole("alert");
      await alert.getByText("The manifest was not stored.").waitFor();
      await alert.getByText(/already exists/).waitFor();
      await ui.page.locator(".cm-content").getByText("taken").waitFor();
    });

    const cron = (name: string) => ui.call<Stored>("GET", `cron-workflows/default/${name}`);
    const change = async (name: string, part: (cron: Stored) => object) => {
      const stored = await cron(name);
      const cronWorkflow = { ...stored, ...part(stored) };
      await ui.call("PUT", `cron-workflows/default/${name}`, { cronWorkflow });
    };
    const store = (name: string) =>
      ui.call("POST", "cron-workflows/default", {
        cronWorkflow: {
          metadata: { name },
          spec: { schedules: ["0 0 1 1 *"], timezone: "UTC", workflowSpec: QUICK },
        },
      });
    /** Changes the schedule in the editor. */
    async function reschedule(): Promise<void> {
      await ui.page.locator(".cm-line", { hasText: "0 0 1 1 *" }).last().click();
      await ui.page.keyboard.press("End");
      await ui.page.keyboard.press("Backspace");
      await ui.page.keyboard.type("2");
      await valid();
    }
    const conflict = () =>
      ui.page.getByRole("region", { name: "Somebody else has changed it", exact: true });

    test("another's change is shown, and replaced only by somebody who has seen it", async () => {
      await store("shared");
      await edit({ kind: "CronWorkflow", namespace: "default", name: "shared" });
      await reschedule();
      await change("shared", ({ spec }) => ({ spec: { ...spec, timezone: "Europe/Berlin" } }));
      await ui.button("Update").click();
      await conflict().getByText("Europe/Berlin").waitFor();
      // The server refused it, or the page had seen the change before.
      expect((await cron("shared")).spec).toMatchObject({
        schedules: ["0 0 1 1 *"],
        timezone: "Europe/Berlin",
      });
      // A reload loses neither the text nor what it was made from.
      await ui.page.reload();
      await conflict().waitFor();
      await ui.button("Keep my text, to replace this").click();
      await conflict().waitFor({ state: "detached" });
      await valid();
      await ui.button("Update").click();
      await ui.page.waitForURL(/\/cron\/default\/shared$/);
      expect((await cron("shared")).spec).toMatchObject({
        schedules: ["0 0 1 1 2"],
        timezone: "UTC",
      });
    });

    test("one's own text can be given up for what somebody else has stored", async () => {
      await store("given-up");
      await edit({ kind: "CronWorkflow", namespace: "default", name: "given-up" });
      await reschedule();
      await change("given-up", ({ spec }) => ({ spec: { ...spec, timezone: "Asia/Tokyo" } }));
      // The page sees it by itself.
      await conflict().getByText("Asia/Tokyo").waitFor();
      await ui.button("Discard my text and edit this").click();
      await conflict().waitFor({ state: "detached" });
      await editor().getByText("Asia/Tokyo").waitFor();
      expect(await editor().innerText()).toContain("0 0 1 1 *");
      expect(await ui.button("Discard my changes").count()).toBe(0);
    });

    test("a status that changes meanwhile is kept, and no reason to ask", async () => {
      await store("runs");
      await edit({ kind: "CronWorkflow", namespace: "default", name: "runs" });
      await reschedule();
      const annotations = { "cronworkflows.argoproj.io/skipped": "[]" };
      await change("runs", ({ metadata, status }) => ({
        metadata: { ...metadata, annotations },
        status: { ...status, succeeded: 41 },
      }));
      await ui.button("Update").click();
      await ui.page.waitForURL(/\/cron\/default\/runs$/);
      const { metadata, spec, status } = await cron("runs");
      expect(spec.schedules).toEqual(["0 0 1 1 2"]);
      expect(status?.succeeded).toBe(41);
      expect(metadata.annotations).toEqual(annotations);
    });

    test("title and description of the annotations stand in lists and on pages", async () => {
      const annotations = {
        "workflows.argoproj.io/title": "Greets the board",
        "workflows.argoproj.io/description": "Ask the team reports",
      };
      const metadata = { name: "titled", annotations };
      await ui.call("POST", "workflow-templates/default", { template: { metadata, spec: QUICK } });
      await ui.call("POST", "cron-workflows/default", {
        cronWorkflow: { metadata, spec: { schedules: ["0 0 1 1 *"], workflowSpec: QUICK } },
      });
      const selector = "false";
      await ui.call("POST", "workflow-event-bindings/default", {
        binding: {
          metadata,
          spec: { event: { selector }, submit: { workflowTemplateRef: { name: "titled" } } },
        },
      });
      for (const list of ["/templates", "/cron"]) {
        await ui.open(list);
        await ui.page.getByRole("row", { name: /titled Greets the board/ }).waitFor();
      }
      for (const page of ["/templates", "/cron", "/events/bindings"]) {
        await ui.open(`${page}/default/titled`);
        await ui.page.getByText("Greets the board", { exact: true }).waitFor();
        await ui.page.getByText("Ask the team reports", { exact: true }).waitFor();
      }
    });

    test("what is not there, or no kind, is told", async () => {
      await ui.open("/edit?kind=CronWorkflow&namespace=default&name=none");
      await shows("It is not there");
      await ui.open("/edit?kind=Pod");
      await shows("There is no such page");
      expect(ui.browser.troubles()).toEqual(["404 GET /api/v1/cron-workflows/default/none"]);
    });

    test("keys alone lead into the editor, out of it and to the button", async () => {
      await edit({ kind: "CronWorkflow", namespace: "default" });
      await ui.page.getByLabel("Namespace").focus();
      await ui.page.keyboard.press("Tab");
      await ui.page.keyboard.press("Control+End");
      await ui.page.keyboard.type("# by keys");
      await valid();
      await ui.page.keyboard.press("Tab");
      expect(await ui.page.evaluate("document.activeElement.textContent")).toBe("Create");
      await ui.page.keyboard.press("Enter");
      await ui.page.waitForURL(/\/cron\/default\/my-cron$/);
    });
  },
);
