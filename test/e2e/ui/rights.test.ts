/** The pages show what the caller's rights allow, and nothing else. */
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { stringify } from "yaml";
import { createToken } from "../../../src/auth/token_file.ts";
import { browserMissing } from "../../support/argo_pages.ts";
import { FAILS, openUi, QUICK, type Ui, WAITS } from "../../support/ui.ts";

const missing = browserMissing();
/** What the reader may read besides workflows. */
const READ = ["workflowtemplates", "cronworkflows", "workfloweventbindings"];

/** One of each thing that has actions: a dead letter, a semaphore, a cron workflow, an archived workflow, a cluster's template. */
async function makeObjects(ui: Ui): Promise<void> {
  await ui.call("POST", "cluster-workflow-templates", {
    template: { metadata: { name: "everywhere" }, spec: QUICK },
  });
  await ui.call("POST", "cron-workflows/team", {
    cronWorkflow: {
      metadata: { name: "yearly" },
      spec: { schedules: ["0 0 1 1 *"], workflowSpec: QUICK },
    },
  });
  await ui.call("POST", "sync/team", { cmName: "limits", key: "prices", limit: 1 });
  await ui.submit("holds", {
    ...WAITS,
    synchronization: {
      semaphores: [{ configMapKeyRef: { name: "limits", key: "prices" } }],
    },
  }, "team");
  await ui.call("POST", "workflow-event-bindings/team", {
    binding: {
      metadata: { name: "builds" },
      spec: {
        event: { selector: 'payload.job.state == "done"' },
        submit: { workflowTemplateRef: { name: "greet" } },
      },
    },
  });
  await ui.call("POST", "events/team/broken", { state: "done" });
}

describe.skipIf(missing !== undefined)(
  `a caller who may only read${missing ? ` (skipped: ${missing})` : ""}`,
  () => {
    const admin = createToken("admin", []);
    const reader = createToken("reader", []);
    let folder: string;
    let ui: Ui;

    beforeAll(async () => {
      folder = await mkdtemp(join(tmpdir(), "sluice-ui-rights-"));
      const files = { tokens: join(folder, "tokens.yaml"), access: join(folder, "access.yaml") };
      await writeFile(files.tokens, stringify({ tokens: [admin.entry, reader.entry] }));
      const everything = { namespaces: ["*"], apiGroups: ["*"], resources: ["*"], verbs: ["*"] };
      const verbs = ["get", "list", "watch"];
      const rules = [
        { subjects: ["admin"], ...everything },
        { subjects: ["reader"], namespaces: ["team"], resources: ["workflows"], verbs },
        { subjects: ["reader"], namespaces: ["team"], resources: READ, verbs },
      ];
      await writeFile(files.access, stringify({ rules }));
      ui = await openUi([
        "--auth-mode=client",
        `--token-file=${files.tokens}`,
        `--access-file=${files.access}`,
        "--archive",
      ], admin.token);
      await ui.submit("waits", WAITS, "team");
      await ui.submit("broken", FAILS, "team");
      await ui.call("POST", "workflow-templates/team", {
        template: { metadata: { name: "greet" }, spec: QUICK },
      });
      await makeObjects(ui);
      await ui.open("/login");
      await ui.page.getByLabel("Token").fill(reader.token);
      await ui.button("Log in").click();
      await ui.page.getByText("reader", { exact: true }).waitFor();
      ui.browser.troubles();
    });
    afterAll(async () => {
      await ui?.close();
      await rm(folder, { recursive: true, force: true });
    });

    /** Opens a page; resolves when it knows the caller's rights and has drawn what follows from them. */
    async function openKnown(path: string): Promise<void> {
      const answered = ui.page.waitForResponse(/\/api\/v1\/access\/team/);
      await ui.open(path);
      await answered;
      await ui.page.waitForTimeout(100);
    }
    const buttons = (name: string) => ui.page.getByRole("button", { name, exact: true });

    test("is led to the namespaces that it may see", async () => {
      await ui.open("/");
      await ui.page.getByText("You may not see this").waitFor();
      await ui.page.getByRole("link", { name: "team", exact: true }).click();
      await ui.page.getByRole("link", { name: "waits", exact: true }).waitFor();
      expect(await ui.page.getByRole("link", { name: "Submit a workflow" }).count()).toBe(0);
      expect(ui.browser.troubles().every((one) => one.startsWith("403 GET /api/v1/workflow")))
        .toBe(true);
    });

    test("is offered no action on chosen workflows", async () => {
      await openKnown("/?namespace=team");
      await ui.page.getByLabel("Choose waits").check();
      const batch = ui.page.getByRole("toolbar", { name: "With the chosen workflows" });
      await batch.getByText("1 chosen").waitFor();
      expect(await batch.getByRole("button").allTextContents()).toEqual(["Choose none"]);
    });

    test("sees a waiting step, and neither actions nor logs", async () => {
      for (const [path, word] of [["waits", /has been waiting for a call/], ["broken", /failed/]]) {
        await openKnown(`/workflows/team/${path}`);
        await ui.page.getByText(word as RegExp).first().waitFor();
        const toolbar = ui.page.getByRole("toolbar", { name: "Actions" });
        expect(await toolbar.getByRole("button").count()).toBe(0);
        for (const name of ["Resume", "Fail it …", "Retry", "Delete"]) {
          expect(await buttons(name).count(), name).toBe(0);
        }
        expect(await ui.page.getByRole("tab", { name: "Logs" }).count()).toBe(0);
      }
      await openKnown("/waiting?namespace=team");
      await ui.page.getByRole("link", { name: /waits in team/ }).waitFor();
      expect(await buttons("Resume").count()).toBe(0);
      expect(ui.browser.troubles()).toEqual([]);
    });

    test("is told that what it sees gets old where it may list but not watch", async () => {
      const watches = /\/workflow-events\//;
      const refusal = { status: 403, json: { code: 7, message: "watch is not allowed" } };
      await ui.page.route(watches, (route) => route.fulfill(refusal));
      await ui.open("/?namespace=team");
      await ui.page.getByText("You may not watch this").waitFor();
      await ui.page.getByRole("link", { name: "waits", exact: true }).waitFor();
      expect(await ui.page.getByText("Connection lost").count()).toBe(0);
      // It goes on by itself when the right is given.
      await ui.page.unroute(watches);
      await ui.page.getByText("You may not watch this").waitFor({ state: "detached" });
      expect(ui.browser.troubles().every((one) => one.startsWith("403 GET"))).toBe(true);
    });

    test("is told that it may not submit", async () => {
      await ui.open("/submit?template=greet");
      await ui.page.getByText("You may not submit workflows in “team”").waitFor();
      await ui.page.getByText("This template takes no parameters.").waitFor();
      expect(await buttons("Submit").count()).toBe(0);
      expect(ui.browser.troubles()).toEqual([]);
    });

    const entries = () =>
      ui.page.locator("header nav a:visible").allTextContents().then((texts) =>
        texts.map((text) => text.trim())
      );

    test("finds in the navigation and behind keys only what it may see", async () => {
      await ui.open("/?namespace=team");
      await ui.page.locator("header nav a", { hasText: "System" }).waitFor({ state: "hidden" });
      const seen = [
        "Workflows",
        "Waiting",
        "Events",
        "Templates",
        "Cron",
        "Archive",
        "Locks",
      ];
      expect(await entries()).toEqual(seen);
      await ui.page.keyboard.press("?");
      const keys = ui.page.getByRole("dialog");
      await keys.getByRole("row", { name: /Locks$/ }).waitFor();
      expect(await keys.getByRole("row", { name: /(System|Submit.*)$/ }).count()).toBe(0);
      await ui.page.keyboard.press("Escape");
      await ui.page.keyboard.press("g");
      await ui.page.keyboard.press("y");
      expect(new URL(ui.page.url()).pathname).toBe("/");
      expect(ui.browser.troubles()).toEqual([]);
    });

    const ASKED = /\/api\/v1\/access/;
    test.for(["is late", "is lost"])("hides pages also when the answer %s", async (what) => {
      const before = await entries();
      await ui.page.route(ASKED, (route) => what === "is lost" ? route.abort() : undefined);
      try {
        const asked = ui.page.waitForRequest(ASKED);
        await ui.open("/locks?namespace=team");
        await asked;
        await ui.page.getByRole("heading", { name: "Locks" }).waitFor();
        await ui.page.waitForTimeout(100);
        expect(await entries()).toEqual(before);
      } finally {
        await ui.page.unroute(ASKED);
        ui.browser.troubles();
      }
    });

    test("is told where else to look, and nothing that it may not have", async () => {
      await ui.open("/templates?namespace=team");
      await ui.page.getByRole("link", { name: "greet", exact: true }).waitFor();
      await ui.page.getByRole("button", { name: "For the whole cluster" }).waitFor({
        state: "detached",
      });
      expect(ui.browser.troubles()).toEqual([]);
      await ui.open("/system");
      await ui.page.getByText("You may not see this").waitFor();
      await ui.page.waitForTimeout(200);
      expect(await ui.page.getByText("You may see something in:").count()).toBe(0);
      ui.browser.troubles();
    });

    test("is told that it may not store manifests", async () => {
      for (const path of ["/templates", "/cron", "/events/bindings"]) {
        await openKnown(`${path}?namespace=team`);
        await ui.page.locator("[data-keys-row]").first().waitFor();
        await ui.page.waitForTimeout(200);
        expect(await ui.page.getByRole("link", { name: /^New / }).count(), path).toBe(0);
      }
      await ui.open("/edit?kind=CronWorkflow&namespace=team");
      await ui.page.getByText("You may not create a cron workflow in “team”").waitFor();
      await ui.page.getByText("The manifest has the right form.").waitFor();
      expect(await buttons("Create").count()).toBe(0);
      await ui.open("/edit?kind=CronWorkflow&namespace=team&name=yearly");
      await ui.page.getByText("You may not update the cron workflow yearly").waitFor();
      await ui.page.getByText("The manifest has the right form.").waitFor();
      expect(await buttons("Update").count()).toBe(0);
      expect(ui.browser.troubles()).toEqual([]);
    });

    const PAGES_OF_ONE = [
      ["/templates/team/greet", "Actions"],
      ["/cron/team/yearly", "Actions"],
      ["/archive/team/broken/UID", "Actions"],
      ["/events/bindings/team/builds", "Actions"],
    ] as const;
    test.each(PAGES_OF_ONE)("is offered no action at %s", async (path, name) => {
      const { metadata } = await ui.call<{ metadata: { uid: string } }>(
        "GET",
        "workflows/team/broken?fields=metadata.uid",
      );
      await openKnown(path.replace("UID", metadata.uid));
      const toolbar = ui.page.getByRole("toolbar", { name });
      await toolbar.waitFor({ state: "attached" });
      await ui.page.waitForTimeout(200);
      expect(await toolbar.locator("a, button").count()).toBe(0);
      expect(ui.browser.troubles()).toEqual([]);
    });

    test("sees locks without a way to change their limits", async () => {
      await openKnown("/locks?namespace=team");
      await ui.page.getByText("prices").first().waitFor();
      await ui.page.waitForTimeout(200);
      expect(await buttons("Change the limit").count()).toBe(0);
      expect(ui.browser.troubles()).toEqual([]);
    });

    test("sees dead letters, but neither replays them nor sees what they held", async () => {
      await openKnown("/events?state=dead&namespace=team");
      const row = ui.page.getByRole("row", { name: /broken/ });
      await row.waitFor();
      await ui.page.waitForTimeout(200);
      expect(await buttons("Replay all that match …").count()).toBe(0);
      expect(await row.getByRole("button").count()).toBe(0);
      await row.getByRole("link").first().click();
      await ui.page.getByText("builds").first().waitFor();
      await ui.page.getByText("You may not see").waitFor();
      expect(await ui.page.getByRole("button", { name: /Replay/ }).count()).toBe(0);
      expect(ui.browser.troubles()).toEqual([]);
    });

    test("tries stored bindings, and no others", async () => {
      await openKnown("/events/playground?namespace=team");
      const choice = ui.page.getByRole("combobox", { name: "Binding" });
      await choice.getByRole("option", { name: "builds" }).waitFor({ state: "attached" });
      await ui.page.getByText(/It would fail|It would do nothing/).first().waitFor();
      expect(await choice.getByRole("option").allTextContents()).toEqual(["builds"]);
      expect(await ui.page.getByLabel("Binding (YAML or JSON)").count()).toBe(0);
      expect(ui.browser.troubles()).toEqual([]);
    });

    test("the server refuses what the page does not offer", async () => {
      const response = await fetch(`${ui.server.url}/api/v1/workflows/team/waits/resume`, {
        method: "PUT",
        headers: { authorization: reader.token },
        body: "{}",
      });
      expect(response.status).toBe(403);
    });
  },
);
