/** Submissions: what was filled in arrives as it was written, and once. */
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import type { Workflow } from "../../../src/spec/manifest.ts";
import { browserMissing } from "../../support/argo_pages.ts";
import { openUi, type Ui } from "../../support/ui.ts";

const missing = browserMissing();
const MAIL = {
  entrypoint: "main",
  arguments: { parameters: [{ name: "text", value: "one\ntwo" }, { name: "to", value: "me" }] },
  templates: [{ name: "main", suspend: {} }],
};

describe.skipIf(missing !== undefined)(
  `submissions${missing ? ` (skipped: ${missing})` : ""}`,
  () => {
    let ui: Ui;
    const field = (name: string) => ui.page.getByLabel(name, { exact: true });
    const made = async () =>
      (await ui.call<{ items?: Workflow[] }>("GET", "workflows/default")).items ?? [];
    const isMade = () => ui.page.waitForURL(/\/workflows\/default\/mail-/);

    beforeAll(async () => {
      ui = await openUi();
      await ui.call("POST", "workflow-templates/default", {
        template: { metadata: { name: "mail" }, spec: MAIL },
      });
    });
    afterAll(() => ui?.close());
    afterEach(async () => {
      ui.browser.troubles();
      for (const { metadata } of await made()) {
        await ui.call("DELETE", `workflows/default/${metadata.name}`);
      }
    });

    test("a value keeps its lines when somebody edits it", async () => {
      await ui.open("/submit?namespace=default&template=mail");
      expect(await field("text").inputValue()).toBe("one\ntwo");
      await field("text").press("Control+End");
      await ui.page.keyboard.press("Enter");
      await ui.page.keyboard.insertText("three");
      // A value of one line is sent with Enter, as in any form.
      await field("to").press("Enter");
      await isMade();
      const [workflow] = await made();
      const given = workflow?.spec.arguments?.parameters?.map(({ name, value }) => [name, value]);
      expect(Object.fromEntries(given ?? [])["text"]).toBe("one\ntwo\nthree");
    });

    test("a template is found by its address, however many there are", async () => {
      const rest = Array.from({ length: 500 }, (_, at) => `a-${at}`);
      const make = async () => {
        for (let name = rest.pop(); name !== undefined; name = rest.pop()) {
          await ui.call("POST", "workflow-templates/many", {
            template: { metadata: { name }, spec: MAIL },
          });
        }
      };
      await Promise.all([make(), make(), make(), make()]);
      await ui.call("POST", "workflow-templates/many", {
        template: { metadata: { name: "z-last" }, spec: MAIL },
      });
      await ui.open("/submit?namespace=many&template=z-last");
      await field("to").waitFor();
      expect(await ui.page.locator(".page select").inputValue()).toBe("z-last");
    });

    test.each(["template", "manifest"])(
      "a %s that is submitted again because no answer came is submitted once",
      async (from) => {
        await ui.open(`/submit?namespace=default&from=${from}&template=mail`);
        if (from === "manifest") {
          const manifest = { metadata: { generateName: "mail-" }, spec: MAIL };
          await ui.page.locator(".code-host").getByRole("textbox").press("Control+a");
          await ui.page.keyboard.press("Delete");
          await ui.page.keyboard.insertText(JSON.stringify(manifest));
          await ui.page.getByText("The manifest is valid.").waitFor();
        }
        const posts = /\/api\/v1\/workflows\/default(\/submit)?$/;
        await ui.page.route(posts, async (route) => {
          await route.fetch();
          await route.abort();
        });
        await ui.button("Submit").click();
        await ui.page.getByText(/No answer came/).waitFor();
        expect(await ui.page.getByText("The workflow was not submitted.").count()).toBe(0);
        await ui.page.unroute(posts);
        await ui.button("Submit").click();
        await isMade();
        expect(await made()).toHaveLength(1);
      },
    );
  },
);
