/** Dialogs say what they are about, and offer values as their parameters are described. */
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import type { Workflow } from "../../../src/spec/manifest.ts";
import { browserMissing } from "../../support/argo_pages.ts";
import { openUi, type Ui } from "../../support/ui.ts";

const missing = browserMissing();
const REPORT = {
  entrypoint: "main",
  arguments: {
    parameters: [
      { name: "day", value: "today", description: "Day of the report" },
      { name: "format", enum: ["pdf", "html"], value: "pdf" },
      { name: "recipients" },
    ],
  },
  templates: [{ name: "main", container: { image: "x", command: ["false"] } }],
};
const APPROVE = {
  entrypoint: "main",
  templates: [{
    name: "main",
    inputs: {
      parameters: [
        { name: "approved", default: "NO", enum: ["YES", "NO"], description: "May it go on?" },
      ],
    },
    outputs: { parameters: [{ name: "approved", valueFrom: { supplied: {} } }] },
    suspend: {},
  }],
};

describe.skipIf(missing !== undefined)(`dialogs${missing ? ` (skipped: ${missing})` : ""}`, () => {
  let ui: Ui;
  const dialog = () => ui.page.getByRole("dialog");
  const press = (name: string) => dialog().getByRole("button", { name, exact: true }).click();
  const isGone = () => dialog().waitFor({ state: "detached" });

  beforeAll(async () => {
    ui = await openUi();
    await ui.call("POST", "workflow-templates/default", {
      template: { metadata: { name: "report" }, spec: REPORT },
    });
    await ui.call("POST", "workflows/default/submit", {
      resourceKind: "WorkflowTemplate",
      resourceName: "report",
      submitOptions: { name: "report-1", parameters: ["recipients=me", "format=html"] },
    });
    await ui.submit("approval", APPROVE);
  });
  afterAll(() => ui?.close());
  afterEach(() => expect(ui.browser.troubles()).toEqual([]));

  test.each(["Retry", "Resubmit"])(
    "%s names the workflow, and offers its parameters as the template describes them",
    async (verb) => {
      await ui.open("/workflows/default/report-1");
      await ui.page.locator(".headline .phase", { hasText: "Failed" }).waitFor();
      await ui.button(verb).click();
      await dialog().getByRole("heading", { name: `${verb} report-1?` }).waitFor();
      await dialog().getByRole("heading", { name: "Parameters" }).waitFor();
      const format = dialog().getByLabel("format");
      expect(await format.inputValue()).toBe("html");
      expect(await format.locator("option").allInnerTexts()).toEqual(["pdf", "html"]);
      await dialog().getByText("Day of the report").waitFor();
      expect(await dialog().getByLabel("recipients").inputValue()).toBe("me");
      if (verb === "Resubmit") {
        await format.selectOption("pdf");
        await press("Resubmit");
        await ui.page.waitForURL(/\/report-(?!1$)/);
        const name = new URL(ui.page.url()).pathname.split("/").at(-1);
        const { spec } = await ui.call<Workflow>("GET", `workflows/default/${name}`);
        expect(spec.arguments?.parameters).toContainEqual({ name: "format", value: "pdf" });
        return;
      }
      await press("Cancel");
      await isGone();
    },
  );

  test("a waiting step tells what its outputs are for; nothing happens on Cancel", async () => {
    await ui.open("/waiting");
    const entry = ui.page.locator(".inbox > li", { hasText: "approval" });
    // Its only step is the whole workflow, so its name stands there once.
    expect(await entry.locator("h2").innerText()).toMatch(/^approval\s+in default$/);
    expect(await entry.locator("time").innerText()).toMatch(/^for \d+/);
    await ui.page.getByText(/These steps wait until somebody resumes them/).waitFor();
    for (const name of ["Resume", "Fail it …"]) {
      await entry.getByRole("button", { name, exact: true }).click();
      if (name === "Resume") await dialog().getByText("May it go on?").waitFor();
      await press("Cancel");
      await isGone();
    }
    await entry.getByRole("button", { name: "Resume", exact: true }).click();
    await dialog().getByLabel("approved").selectOption("YES");
    await press("Resume");
    await entry.waitFor({ state: "detached" });
  });

  test.each(["/workflows/default/held", "/?name=held"])(
    "the resume of a workflow with a waiting step asks before it lets that step go on: %s",
    async (path) => {
      await ui.submit("held", APPROVE);
      await ui.call("PUT", "workflows/default/held/suspend", {});
      await ui.open(path);
      if (path.startsWith("/?")) await ui.page.getByRole("checkbox", { name: "held" }).check();
      const bar = ui.page.getByRole("toolbar").filter({ hasText: "Terminate" });
      await bar.getByRole("button", { name: "Resume", exact: true }).click();
      await dialog().getByText("It continues, and so do its steps that wait for a call.").waitFor();
      await press("Cancel");
      const { status } = await ui.call<Workflow>("GET", "workflows/default/held");
      expect(status?.phase).toBe("Running");
      await bar.getByRole("button", { name: "Resume", exact: true }).click();
      await press("Resume");
      await ui.page.getByText("Succeeded").first().waitFor();
      await ui.call("DELETE", "workflows/default/held");
    },
  );
});
