/** What holds for every page: reachable with the keyboard, readable for everybody, and safe whatever a field holds. */
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import axe from "axe-core";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { stringify } from "yaml";
import { createToken } from "../../../src/auth/token_file.ts";
import { browserMissing } from "../../support/argo_pages.ts";
import { ASYNC_JOB, FAILS, openUi, QUICK, type Ui, WAITS } from "../../support/ui.ts";

const missing = browserMissing();
const skipped = missing ? ` (skipped: ${missing})` : "";
/** Runs if any field's text becomes markup or script. */
const EVIL =
  `"><img src=x onerror="document.title='broken'"><script>document.title='broken'</script>`;
const EVIL_SPEC = {
  entrypoint: "main",
  arguments: { parameters: [{ name: "p", value: EVIL, description: EVIL }] },
  templates: [{
    name: "main",
    suspend: {},
    inputs: { parameters: [{ name: "evil", value: EVIL }] },
  }],
};
const PATHS = [
  "/",
  "/?namespace=nothing",
  "/waiting",
  "/submit?template=evil",
  "/submit?from=manifest",
  "/login",
  "/workflows/default/broken",
  "/workflows/default/broken?view=tree",
  "/workflows/default/broken?view=time",
  "/workflows/default/broken?view=logs",
  "/workflows/default/broken?view=manifest",
  "/workflows/default/waits",
  "/workflows/default/none",
];

interface Violation {
  id: string;
  impact: string;
  nodes: { target: string[]; failureSummary: string }[];
}

describe.skipIf(missing !== undefined)(`every page${skipped}`, () => {
  let ui: Ui;

  beforeAll(async () => {
    ui = await openUi();
    await ui.submit("broken", FAILS);
    await ui.submit("waits", ASYNC_JOB);
    await ui.submit("ended", QUICK);
    await ui.call("POST", "workflows/default", {
      workflow: { metadata: { name: "evil", annotations: { note: EVIL } }, spec: EVIL_SPEC },
    });
    await ui.call("POST", "workflow-templates/default", {
      template: { metadata: { name: "evil" }, spec: EVIL_SPEC },
    });
  });
  afterAll(() => ui?.close());

  /** The page when its data is there. */
  async function settle(): Promise<void> {
    await ui.page.locator("h1, .state").first().waitFor();
    await ui.page.waitForTimeout(150);
    await ui.page.locator(".loading").first().waitFor({ state: "detached" });
  }

  test.each(["light", "dark"] as const)("axe finds nothing serious, %s", async (theme) => {
    await ui.page.emulateMedia({ colorScheme: theme });
    const found: string[] = [];
    for (const path of PATHS) {
      await ui.open(path);
      await settle();
      await ui.page.evaluate(axe.source);
      const violations = await ui.page.evaluate<Violation[]>(
        `axe.run(document, { runOnly: ["wcag2a", "wcag2aa", "wcag21aa", "wcag22aa", "best-practice"] })
          .then(({ violations }) => violations)`,
      );
      for (const { id, impact, nodes } of violations) {
        if (impact !== "serious" && impact !== "critical") continue;
        found.push(`${path}: ${id} at ${nodes.map(({ target }) => target.join(" ")).join("; ")}`);
      }
    }
    expect(found).toEqual([]);
  });

  test.each([360, 1280, 1920])("nothing is wider than a screen of %i px", async (width) => {
    await ui.page.setViewportSize({ width, height: 800 });
    const wide: string[] = [];
    for (const path of PATHS) {
      await ui.open(path);
      await settle();
      const more = await ui.page.evaluate<number>(
        "document.documentElement.scrollWidth - innerWidth",
      );
      if (more > 0) wide.push(`${path}: ${more} px`);
    }
    expect(wide).toEqual([]);
    await ui.page.setViewportSize({ width: 1280, height: 900 });
  });

  test("what users write stays text, and nothing breaks the policy", async () => {
    ui.browser.troubles();
    const paths = [
      "/?columns=param:p",
      `/?${new URLSearchParams({ name: EVIL, label: "a=b", columns: EVIL })}`,
      "/waiting",
      "/workflows/default/evil",
      "/workflows/default/evil?view=manifest",
      "/submit?template=evil",
      `/login?${new URLSearchParams({ from: `//evil.example/${EVIL}` })}`,
    ];
    for (const path of paths) {
      await ui.open(path);
      await settle();
      expect(await ui.page.title(), path).not.toBe("broken");
      expect(await ui.page.locator("main img, main script").count(), path).toBe(0);
    }
    await ui.open("/workflows/default/evil");
    await ui.page.getByText(EVIL).first().waitFor();
    expect(ui.browser.troubles()).toEqual([]);
  });

  test("keys alone lead through the pages", async () => {
    const { keyboard } = ui.page;
    await ui.open("/");
    await ui.page.getByRole("link", { name: "ended" }).waitFor();
    const focused = () => ui.page.evaluate<string>("document.activeElement.textContent");
    await keyboard.press("/");
    await keyboard.type("end");
    await ui.page.getByRole("link", { name: "broken" }).waitFor({ state: "detached" });
    await ui.page.keyboard.press("Tab");
    await ui.page.evaluate("document.activeElement.blur()");
    await keyboard.press("j");
    expect(await focused()).toBe("ended");
    await keyboard.press("x");
    await ui.page.getByText("1 chosen").waitFor();
    await keyboard.press("Enter");
    await ui.page.waitForURL(/\/workflows\/default\/ended$/);
    await keyboard.press("g");
    await keyboard.press("i");
    await ui.page.waitForURL(/\/waiting$/);
    await keyboard.press("?");
    await ui.page.getByRole("dialog", { name: "Keys" }).waitFor();
    await keyboard.press("Escape");
    await ui.page.getByRole("dialog").waitFor({ state: "detached" });
    await keyboard.press("g");
    await keyboard.press("w");
    await ui.page.getByRole("heading", { name: "Workflows" }).waitFor();
  });

  test("the chosen colours stay over a reload", async () => {
    await ui.open("/");
    await ui.page.getByLabel("Colours").selectOption("dark");
    await ui.page.reload();
    expect(await ui.page.evaluate("document.documentElement.dataset.theme")).toBe("dark");
    expect(await ui.page.evaluate("getComputedStyle(document.body).backgroundColor"))
      .toBe("rgb(20, 23, 28)");
  });
});

describe.skipIf(missing !== undefined)(`a server that asks who is there${skipped}`, () => {
  const { token, entry } = createToken("ada", []);
  let folder: string;
  let ui: Ui;

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), "sluice-ui-login-"));
    const files = { tokens: join(folder, "tokens.yaml"), access: join(folder, "access.yaml") };
    await writeFile(files.tokens, stringify({ tokens: [entry] }));
    const rule = {
      subjects: ["ada"],
      namespaces: ["team"],
      resources: ["workflows"],
      verbs: ["*"],
    };
    await writeFile(files.access, stringify({ rules: [rule] }));
    ui = await openUi([
      "--auth-mode=client",
      `--token-file=${files.tokens}`,
      `--access-file=${files.access}`,
    ], token);
    await ui.submit("mine", WAITS, "team");
  });
  afterAll(async () => {
    await ui?.close();
    await rm(folder, { recursive: true, force: true });
  });

  test("leads to the login and back, shows what the caller may see, and forgets at logout", async () => {
    const { page } = ui;
    await ui.open("/?namespace=team");
    await page.getByText("Please log in").waitFor();
    await page.getByRole("link", { name: "Log in" }).click();
    await page.getByLabel("Token").fill("sluice_wrong");
    await ui.button("Log in").click();
    await page.getByText(/does not accept this token/).waitFor();
    await page.getByLabel("Token").fill(token);
    await ui.button("Log in").click();
    await page.waitForURL(/\/\?namespace=team$/);
    await page.getByRole("link", { name: "mine" }).click();
    await page.getByText("ada").waitFor();
    await page.getByText("The call that resumes it").click();
    await page.getByText(/Authorization: Bearer \$TOKEN/).waitFor();
    expect(await page.evaluate("document.cookie")).not.toContain("authorization");
    await ui.button("Resume").click();
    await page.locator(".headline .phase", { hasText: "Succeeded" }).waitFor();
    await ui.open("/?namespace=other");
    await page.getByText("You may not see this").waitFor();
    await ui.button("Log out").click();
    await page.waitForURL(/\/login$/);
    await ui.open("/?namespace=team");
    await page.getByText("Please log in").waitFor();
  });
});
