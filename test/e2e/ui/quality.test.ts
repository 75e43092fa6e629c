/** What holds for every page: reachable with the keyboard, readable for everybody, and safe whatever a field holds. */
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import axe from "axe-core";
import type { Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import { stringify } from "yaml";
import { createToken } from "../../../src/auth/token_file.ts";
import { browserMissing } from "../../support/argo_pages.ts";
import {
  ASYNC_JOB,
  FAILS,
  openUi,
  QUICK,
  settled,
  type Ui,
  visitAll,
  WAITS,
} from "../../support/ui.ts";

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
  "/edit?kind=CronWorkflow",
  "/edit?kind=WorkflowTemplate&namespace=default&name=evil",
  "/login",
  "/events",
  "/events?state=dead",
  "/events/default/EVENT",
  "/events/bindings",
  "/events/bindings/default/evil",
  "/events/playground",
  "/events/playground?binding=evil",
  "/workflows/default/broken",
  "/workflows/default/broken?view=tree",
  "/workflows/default/broken?view=time",
  "/workflows/default/broken?view=logs",
  "/workflows/default/broken?view=manifest",
  "/workflows/default/waits",
  "/workflows/default/none",
  "/templates",
  "/templates?name=nothing",
  "/templates/default/evil",
  "/templates/default/none",
  "/cron",
  "/cron/default/evil",
  "/archive",
  "/locks",
  "/system",
];

interface Violation {
  id: string;
  impact: string;
  nodes: { target: string[]; failureSummary: string }[];
}

describe.skipIf(missing !== undefined)(`every page${skipped}`, () => {
  let ui: Ui;
  let event: string | undefined;
  const withEvent = (path: string) => path.replace("EVENT", event ?? "");
  const open = (path: string) => ui.open(withEvent(path));

  beforeAll(async () => {
    ui = await openUi();
    await ui.submit("broken", FAILS);
    await ui.submit("waits", ASYNC_JOB);
    await ui.submit("ended", QUICK);
    await ui.call("POST", "workflows/default", {
      workflow: { metadata: { name: "evil", annotations: { note: EVIL } }, spec: EVIL_SPEC },
    });
    await ui.call("POST", "workflow-templates/default", {
      template: {
        metadata: { name: "evil", annotations: { "workflows.argoproj.io/description": EVIL } },
        spec: EVIL_SPEC,
      },
    });
    const selector = `payload.text == ${JSON.stringify(EVIL)} && payload.missing.member`;
    await ui.call("POST", "workflow-event-bindings/default", {
      binding: {
        metadata: { name: "evil", annotations: { note: EVIL } },
        spec: { event: { selector }, submit: { workflowTemplateRef: { name: "evil" } } },
      },
    });
    const sent = await fetch(
      `${ui.server.url}/api/v1/events/default/${encodeURIComponent(EVIL.replaceAll("/", "."))}`,
      {
        method: "POST",
        body: JSON.stringify({ text: EVIL, [EVIL]: EVIL }),
        headers: { "x-evil": EVIL },
      },
    );
    expect(sent.status).toBe(200);
    event = await vi.waitFor(async () => {
      const { items: [dead] } = await ui.call<{ items: { id: string }[] }>(
        "GET",
        "event-deliveries/default?state=dead",
      );
      if (dead === undefined) throw new Error("the event is not dispatched yet");
      return dead.id;
    }, 10_000);
    await ui.call("POST", "cron-workflows/default", {
      cronWorkflow: {
        metadata: {
          name: "evil",
          annotations: {
            note: EVIL,
            "cronworkflows.argoproj.io/skipped": JSON.stringify([
              { reason: EVIL, from: 1, to: 1, count: 1 },
            ]),
          },
        },
        spec: {
          schedules: ["0 1 * * *"],
          suspend: true,
          when: JSON.stringify(EVIL),
          stopStrategy: { expression: `${JSON.stringify(EVIL)} == ""` },
          workflowSpec: EVIL_SPEC,
        },
      },
    });
    await ui.submit("locked", { ...WAITS, synchronization: { mutexes: [{ name: EVIL }] } });
  });
  afterAll(() => ui?.close());

  test("axe finds nothing serious in either theme, and nothing is wider than the screen", async () => {
    const found: string[] = [];
    const visit = async (page: Page, path: string) => {
      await page.evaluate(axe.source);
      for (const colorScheme of ["light", "dark"] as const) {
        await page.emulateMedia({ colorScheme });
        const violations = await page.evaluate<Violation[]>(
          `axe.run(document, { runOnly: ["wcag2a", "wcag2aa", "wcag21aa", "wcag22aa", "best-practice"] })
            .then(({ violations }) => violations)`,
        );
        for (const { id, impact, nodes } of violations) {
          if (impact !== "serious" && impact !== "critical") continue;
          const places = nodes.map(({ target }) => target.join(" ")).join("; ");
          found.push(`${path}, ${colorScheme}: ${id} at ${places}`);
        }
      }
      // 640: a screen of 1280 at twice the size.
      for (const width of [320, 640, 1280, 1920]) {
        await page.setViewportSize({ width, height: 800 });
        // The graph is laid out for the width that it has at first; all else follows the screen.
        if (path.startsWith("/workflows/")) await page.reload();
        await settled(page);
        const more = await page.evaluate<number>(
          "document.documentElement.scrollWidth - innerWidth",
        );
        if (more > 0) found.push(`${path}: ${more} px wider than ${width} px`);
      }
    };
    await visitAll(ui, PATHS.map(withEvent), visit);
    expect(found).toEqual([]);
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
      "/edit?kind=WorkflowTemplate&namespace=default&name=evil",
      `/edit?${new URLSearchParams({ kind: "CronWorkflow", namespace: EVIL.replaceAll("/", "") })}`,
      `/events?${new URLSearchParams({ discriminator: "", binding: "evil" })}`,
      `/events?${new URLSearchParams({ namespace: EVIL.replaceAll("/", "."), state: EVIL })}`,
      "/events/default/EVENT",
      "/events/bindings",
      "/events/bindings/default/evil",
      `/events/playground?${new URLSearchParams({ binding: EVIL })}`,
      `/templates?${new URLSearchParams({ name: EVIL, namespace: EVIL.replaceAll("/", "") })}`,
      "/templates/default/evil",
      "/cron",
      "/cron/default/evil",
      `/archive?${new URLSearchParams({ name: EVIL, phase: EVIL })}`,
      "/locks",
      `/locks?${new URLSearchParams({ namespace: EVIL.replaceAll("/", "") })}`,
      "/system",
      `/login?${new URLSearchParams({ from: `//evil.example/${EVIL}` })}`,
    ];
    await visitAll(ui, paths.map(withEvent), async (page, path) => {
      expect(await page.title(), path).not.toBe("broken");
      expect(await page.locator("main img, main script").count(), path).toBe(0);
    });
    await ui.open("/workflows/default/evil");
    await ui.page.getByText(EVIL).first().waitFor();
    await open("/events/default/EVENT");
    await ui.page.locator(".server-words").first().waitFor();
    await ui.page.locator(".values pre", { hasText: EVIL }).waitFor();
    for (const path of ["/templates/default/evil", "/cron/default/evil", "/locks"]) {
      await ui.open(path);
      await ui.page.getByText("<img src=x").first().waitFor({ timeout: 8_000 }).catch(
        async (error) => {
          throw new Error(`${path}: ${await ui.page.locator("body").innerText()}`, {
            cause: error,
          });
        },
      );
    }
    // There is no such binding, and the server refuses such a namespace, also in a check of the editor: its words are shown.
    const expected =
      /^400 GET|^40[04] (GET|POST) .api.v1.(workflow-event-bindings|event-deliveries|cron-workflows)/;
    expect(ui.browser.troubles().filter((one) => !expected.test(one))).toEqual([]);
  });

  test("keys alone lead through the pages", async () => {
    const { keyboard } = ui.page;
    await ui.open("/");
    await ui.page.getByRole("link", { name: "ended" }).waitFor();
    const focused = () => ui.page.evaluate<string>("document.activeElement.textContent");
    await keyboard.press("/");
    await keyboard.type("end");
    await ui.page.getByRole("link", { name: "broken" }).waitFor({ state: "detached" });
    // While the other list is loading, there is no row.
    await ui.page.getByRole("link", { name: "ended" }).waitFor();
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
    await keyboard.press("g");
    await keyboard.press("e");
    await ui.page.waitForURL(/\/events$/);
    await ui.page.locator("[data-keys-row]").first().waitFor();
    await keyboard.press("/");
    await keyboard.type("nothing like that");
    await ui.page.getByText("No event matches the filters").waitFor();
    await keyboard.press("Control+A");
    await keyboard.press("Delete");
    await ui.page.locator("[data-keys-row]").first().waitFor();
    await ui.page.evaluate("document.activeElement.blur()");
    await keyboard.press("j");
    await keyboard.press("Enter");
    await ui.page.waitForURL(/\/events\/default\//);
    await ui.page.getByRole("heading", { name: "What its bindings did" }).waitFor();
    await keyboard.press("?");
    await ui.page.getByRole("dialog", { name: "Keys" }).waitFor();
    await keyboard.press("Escape");
    await ui.page.getByRole("dialog").waitFor({ state: "detached" });
    await keyboard.press("g");
    await keyboard.press("w");
    await ui.page.getByRole("heading", { name: "Workflows" }).waitFor();
  });

  test("with the colours of the system, drawings have them too, whatever the theme, and what is chosen shows", async () => {
    const looks = (selector: string, property: string) =>
      ui.page.locator(selector).first().evaluate(
        (one, property) => getComputedStyle(one).getPropertyValue(property),
        property,
      );
    for (const colorScheme of ["light", "dark"] as const) {
      await ui.page.emulateMedia({ forcedColors: "active", colorScheme });
      await open("/workflows/default/broken");
      // The theme that the visitor chose does not matter.
      const theme = colorScheme === "light" ? "dark" : "light";
      await ui.page.evaluate(
        (theme) => void (document.documentElement.dataset.theme = theme),
        theme,
      );
      await ui.page.locator(".step.selected").waitFor();
      const [text, ground] = [
        await looks("body", "color"),
        await looks("body", "background-color"),
      ];
      expect(text).not.toBe(ground);
      expect(await looks(".step .title", "fill")).toBe(text);
      expect(await looks(".step .ground", "fill")).toBe(ground);
      expect(await looks(".step.selected .ground", "stroke")).not.toBe(
        await looks(".step:not(.selected) .ground", "stroke"),
      );
      expect(await looks(".tabs [aria-selected=true]", "background-color")).not.toBe(ground);
    }
    await ui.page.emulateMedia({ forcedColors: null, colorScheme: null });
  });

  test("on paper a page is light, and has no controls", async () => {
    const { page } = ui;
    await page.emulateMedia({ media: "print", colorScheme: "dark" });
    await open("/workflows/default/broken");
    await page.getByText("What happened").waitFor();
    expect(await page.evaluate("getComputedStyle(document.body).color")).toBe("rgb(26, 32, 42)");
    expect(await page.locator("button:visible").count()).toBe(0);
    await page.emulateMedia({ media: null, colorScheme: null });
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
    await page.getByText("The server does not know this token, or it has expired.").waitFor();
    await page.getByLabel("Token").fill(token);
    await ui.button("Log in").click();
    await page.waitForURL(/\/\?namespace=team$/);
    await page.getByRole("link", { name: "mine" }).click();
    await page.getByText("ada").waitFor();
    await page.getByText("Resume it or make it fail from a program").click();
    await page.getByText(/Authorization: Bearer \$TOKEN/).first().waitFor();
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
