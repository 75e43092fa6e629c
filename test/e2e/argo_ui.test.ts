/**
 * A walk through the reference's own pages, served by the service: a client that was written without us. No page fails,
 * no request is answered with an error, and what the pages show and do is true.
 */
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Locator } from "playwright-core";
import { afterAll, afterEach, beforeAll, describe, expect, test, vi } from "vitest";
import { stringify } from "yaml";
import { createToken } from "../../src/auth/token_file.ts";
import { type Browser, openBrowser, openPages, pagesMissing } from "../support/argo_pages.ts";
import { type ServerProcess, startServer } from "../support/server_process.ts";

const missing = pagesMissing();
const PATIENCE = { timeout: 60_000, interval: 50 };

const shell = (name: string, text: string, more: object = {}) => ({
  name,
  container: { image: "busybox", command: ["sh", "-c"], args: [text] },
  ...more,
});
/** Every shape that the graph draws: a DAG with an artifact, parameters and a loop, retries, a suspension, a long step. */
const SPECS = {
  good: {
    entrypoint: "main",
    arguments: { parameters: [{ name: "who", value: "world" }] },
    templates: [
      {
        name: "main",
        dag: {
          tasks: [
            { name: "make", template: "make" },
            {
              name: "use",
              template: "use",
              dependencies: ["make"],
              arguments: {
                artifacts: [{ name: "in", from: "{{tasks.make.outputs.artifacts.out}}" }],
              },
            },
            {
              name: "each",
              template: "say",
              dependencies: ["make"],
              withItems: ["x", "y"],
              arguments: { parameters: [{ name: "word", value: "{{item}}" }] },
            },
          ],
        },
      },
      shell(
        "make",
        "echo made for {{workflow.parameters.who}}; echo 5 > /tmp/number; echo in it > /tmp/out.txt",
        {
          outputs: {
            parameters: [{ name: "number", valueFrom: { path: "/tmp/number" } }],
            artifacts: [{ name: "out", path: "/tmp/out.txt", archive: { none: {} } }],
          },
        },
      ),
      shell("use", "cat /tmp/in.txt", {
        inputs: { artifacts: [{ name: "in", path: "/tmp/in.txt" }] },
      }),
      shell("say", "echo {{inputs.parameters.word}}", {
        inputs: { parameters: [{ name: "word" }] },
      }),
    ],
  },
  bad: {
    entrypoint: "main",
    templates: [
      {
        name: "main",
        steps: [[{ name: "fine", template: "fine" }], [{ name: "break", template: "break" }]],
      },
      shell("fine", "true"),
      shell("break", "echo it broke; exit 3", { retryStrategy: { limit: 1 } }),
    ],
  },
  waits: {
    entrypoint: "main",
    templates: [
      {
        name: "main",
        steps: [[{ name: "approve", template: "approve" }], [{ name: "after", template: "after" }]],
      },
      {
        name: "approve",
        suspend: {},
        inputs: { parameters: [{ name: "answer", value: "yes", enum: ["yes", "no"] }] },
        outputs: { parameters: [{ name: "answer", valueFrom: { supplied: {} } }] },
      },
      shell("after", "echo after"),
    ],
  },
  runs: { entrypoint: "main", templates: [shell("main", "echo begun; exec sleep 3600")] },
};
type Name = keyof typeof SPECS;

interface Node {
  id: string;
  displayName: string;
  phase: string;
  finishedAt: string;
  outputs?: { parameters?: { value?: string }[] };
}
interface Workflow {
  metadata: { name: string; labels?: Record<string, string> };
  spec: { suspend?: boolean };
  status: { phase: string; message?: string; nodes?: Record<string, Node> };
}

async function call<Answer = unknown>(
  server: ServerProcess,
  method: string,
  path: string,
  body?: object,
  token?: string,
): Promise<Answer> {
  const response = await fetch(`${server.url}/api/v1/${path}`, {
    method,
    ...(body !== undefined && { body: JSON.stringify(body) }),
    ...(token !== undefined && { headers: { authorization: `Bearer ${token}` } }),
  });
  const text = await response.text();
  if (!response.ok) throw new Error(`${method} ${path}: ${response.status} ${text}`);
  return JSON.parse(text) as Answer;
}

describe.skipIf(missing !== undefined)(
  `the reference's pages${missing ? ` (skipped: ${missing})` : ""}`,
  () => {
    let pages: Awaited<ReturnType<typeof openPages>>;
    let folder: string;
    let server: ServerProcess;
    let browser: Browser;

    const get = (name: string) => call<Workflow>(server, "GET", `workflows/default/${name}`);
    const phase = async (name: string) => (await get(name)).status.phase;
    const node = async (name: Name, displayName: string): Promise<Node> => {
      const found = Object.values((await get(name)).status.nodes ?? {})
        .find((one) => one.displayName === displayName);
      if (found === undefined) throw new Error(`${name} has no node ${displayName}`);
      return found;
    };
    const names = async (path: string) =>
      (await call<{ items: { metadata: { name: string } }[] | null }>(server, "GET", path)).items
        ?.map(({ metadata }) => metadata.name).sort() ?? [];
    const open = (path: string) => browser.page.goto(`${server.url}/argo/${path}`);
    /** Opens the details of a workflow; the page changes its own address once it has found it. */
    const openWorkflow = async (name: string, query = "") => {
      await open(`workflows/default/${name}${query}`);
      await browser.page.waitForURL(/[?&]uid=/);
    };
    const text = (words: string | RegExp) =>
      browser.page.getByText(words).filter({ visible: true });
    /** A button by its text, which follows an icon. */
    const button = (name: string, within: Pick<Locator, "locator"> = browser.page) =>
      within.locator("button", { hasText: new RegExp(`^\\s*${name}\\s*$`, "i") })
        .filter({ visible: true });
    const panel = () => browser.page.locator(".sliding-panel--opened");
    const shows = (words: string | RegExp) => text(words).first().waitFor();
    /** Confirms the dialog. */
    const confirm = () => button("OK").click();
    const row = (name: string) =>
      browser.page.locator(".workflows-list__row-container", {
        has: browser.page.locator(
          `a[href*="/workflows/default/${name}?"], a[href$="/workflows/default/${name}"]`,
        ),
      });
    /** Waits until a row of the list has this text. */
    const reads = (name: string, words: RegExp) =>
      expect.poll(() => row(name).textContent(), PATIENCE).toMatch(words);

    beforeAll(async () => {
      pages = await openPages();
      folder = await mkdtemp(join(tmpdir(), "sluice-argo-walk-"));
      server = await startServer([
        `--store=sqlite:${folder}`,
        `--argo-ui-dir=${pages.dir}`,
        "--archive-deleted",
      ]);
      for (const [name, spec] of Object.entries(SPECS)) {
        await call(server, "POST", "workflows/default", {
          workflow: { metadata: { name, labels: { shape: name } }, spec },
        });
      }
      const { good } = SPECS;
      await call(server, "POST", "workflow-templates/default", {
        template: { metadata: { name: "a-template" }, spec: good },
      });
      await call(server, "POST", "cluster-workflow-templates", {
        clusterWorkflowTemplate: { metadata: { name: "for-all" }, spec: good },
        template: { metadata: { name: "for-all" }, spec: good },
      });
      await call(server, "POST", "cron-workflows/default", {
        cronWorkflow: {
          metadata: { name: "nightly" },
          spec: { schedules: ["0 3 * * *"], workflowSpec: good },
        },
      });
      await call(server, "POST", "workflow-event-bindings/default", {
        binding: {
          metadata: { name: "on-build" },
          spec: {
            event: { selector: "true" },
            submit: { workflowTemplateRef: { name: "a-template" } },
          },
        },
      });
      await vi.waitFor(async () => {
        expect(await Promise.all([phase("good"), phase("bad")])).toEqual(["Succeeded", "Failed"]);
        expect((await node("waits", "approve")).phase).toBe("Running");
        expect((await node("runs", "runs")).phase).toBe("Running");
      }, PATIENCE);
      browser = await openBrowser();
    });
    afterAll(async () => {
      await browser?.close();
      await server?.kill();
      await pages?.remove();
      await rm(folder, { recursive: true, force: true, maxRetries: 5 });
    });
    afterEach(() => {
      expect(browser.troubles()).toEqual([]);
    });

    test("the start page is the list of workflows, with every phase", async () => {
      await open("");
      await browser.page.waitForURL(/\/argo\/workflows\/default/);
      for (const name of Object.keys(SPECS)) await row(name).waitFor();
      await shows("Running workflows");
      await reads("good", /default.*4\/4.*true$/);
      await reads("bad", /child 'bad-\d+.*true$/);
      await reads("waits", /0\/1.*false$/);
    });

    test("the list shows more of a workflow, and filters by phase, name and label", async () => {
      await row("good").getByText("SHOW").click();
      await shows("HIDE");
      await reads("good", /who.*world|workflows\.argoproj\.io\/phase/);
      await browser.page.locator("label", { hasText: "Failed" }).first().click();
      await row("good").waitFor({ state: "detached" });
      await row("bad").waitFor();
      await open("workflows/default?phase=Running&label=shape%3Dwaits");
      await row("waits").waitFor();
      await row("bad").waitFor({ state: "detached" });
      await open(
        "workflows/default?phase=Succeeded&label=shape%3Dgood&name=oo&nameFilter=Contains",
      );
      await row("good").waitFor();
    });

    test("details: graph, timeline, summary, events", async () => {
      await openWorkflow("good");
      for (const name of ["make", "use", "each(0:x)", "each(1:y)", "out.txt"]) {
        await browser.page.locator("svg").getByText(name, { exact: true }).first().waitFor();
      }
      await open("workflows/default/bad?tab=summary");
      await shows(/child 'bad-\d+' failed/);
      await open("workflows/default/bad?tab=timeline");
      await shows("break(0)");
      await open("workflows/default/runs?tab=timeline");
      await browser.page.locator(".workflow-timeline__node").first().waitFor();
      await open("workflows/default/bad?tab=events");
      await shows("WorkflowFailed");
    });

    test("what can be shared of a workflow is shown in frames", async () => {
      await openWorkflow("good");
      await button("Share").click();
      await browser.page.frameLocator('iframe[src*="workflow-graphs"]').locator("svg")
        .getByText("make", { exact: true }).first().waitFor();
      // The badge itself asks for nothing until its address changes.
      await browser.page.frameLocator('iframe[src*="workflow-status-badges"]')
        .locator(".status-badge").waitFor();
    });

    test("a node: summary, container, outputs, its artifact, manifest, logs, events of its pod", async () => {
      const { id } = await node("good", "make");
      const query = `?nodeId=${id}`;
      await openWorkflow("good", query);
      await shows(`good-make-${id.slice("good-".length)}`);
      await text("CONTAINERS").click();
      await shows("busybox");
      await text("INPUTS/OUTPUTS").click();
      await shows("Exit code");
      await shows("number");
      const link = browser.page.locator('a[href*="artifact-files/"]').filter({ visible: true })
        .first();
      const href = new URL(await link.getAttribute("href") ?? "", `${server.url}/argo/`);
      expect(await (await browser.page.request.get(href.href)).text()).toBe("in it\n");
      await openWorkflow("good");
      await browser.page.locator("svg .node.Artifact").click();
      await text("Continue").click();
      await browser.page.frameLocator("iframe").getByText("in it").waitFor();
      await openWorkflow("good", query);
      await button("MANIFEST").last().click();
      await panel().getByText("good.make").first().waitFor();
      await openWorkflow("good", query);
      await button("LOGS").last().click();
      // They are drawn on a canvas, so the test checks what the page received.
      await expect.poll(() => browser.heard(), PATIENCE).toContain("made for world");
      await openWorkflow("good", query);
      await button("EVENTS").last().click();
      await panel().getByText("Ended with exit code 0").waitFor();
      await panel().getByText("Started the step").waitFor();
    });

    test("a suspended step gets its answer and goes on", async () => {
      await openWorkflow("waits", `?nodeId=${(await node("waits", "approve")).id}`);
      await button("RESUME").last().click();
      await shows("Modify parameters");
      await confirm();
      await expect.poll(() => phase("waits"), PATIENCE).toBe("Succeeded");
      expect((await node("waits", "approve")).outputs?.parameters?.[0]?.value).toBe("yes");
    });

    test("a workflow is suspended, resumed, stopped, retried, terminated, resubmitted and deleted", async () => {
      await openWorkflow("runs");
      await button("Suspend").click();
      await confirm();
      await expect.poll(async () => (await get("runs")).spec.suspend, PATIENCE).toBe(true);
      await button("Resume").click();
      await confirm();
      await expect.poll(async () => (await get("runs")).spec.suspend ?? false, PATIENCE).toBe(
        false,
      );
      await button("Stop").click();
      await confirm();
      await expect.poll(() => phase("runs"), PATIENCE).toBe("Failed");
      await button("Retry").click();
      await button("Retry", panel()).click();
      await expect.poll(() => phase("runs"), PATIENCE).toBe("Running");
      await openWorkflow("runs");
      await button("Terminate").click();
      await confirm();
      await expect.poll(() => phase("runs"), PATIENCE).toBe("Failed");
      await openWorkflow("bad");
      await button("Resubmit").click();
      await button("Resubmit", panel()).click();
      await browser.page.waitForURL(/\/workflows\/default\/bad-\w+/);
      await openWorkflow("runs");
      await button("Delete").click();
      await confirm();
      // Only the archive has it now.
      await expect.poll(async () => (await get("runs")).metadata.labels, PATIENCE)
        .toMatchObject({ "workflows.argoproj.io/workflow-archiving-status": "Persisted" });
    });

    test("a workflow is submitted from a template, and as it is written", async () => {
      await open("workflows/default?sidePanel=submit-new-workflow");
      await shows("Submit new workflow");
      await text("Edit using full workflow options").click();
      await panel().locator(".monaco-editor .view-line").first().waitFor();
      await button("Create", panel()).click();
      await browser.page.waitForURL(/\/workflows\/default\/[a-z]+-[a-z]+/);
      await open("workflow-templates/default/a-template");
      await button("Submit").click();
      await button("Submit", panel()).click();
      await browser.page.waitForURL(/\/workflows\/default\/a-template-\w+/);
      const name = new URL(browser.page.url()).pathname.split("/").at(-1) ?? "";
      await expect.poll(() => phase(name), PATIENCE).toBe("Succeeded");
    });

    test("a workflow that only the archive has is shown, and deleted for good", async () => {
      const inArchive = () => names("archived-workflows?namePrefix=runs");
      await expect.poll(inArchive, PATIENCE).toEqual(["runs"]);
      await open("workflows/default?phase=Failed&label=shape%3Druns");
      await reads("runs", /true$/);
      await openWorkflow("runs", "?tab=summary");
      await shows("Persisted");
      await button("Delete").click();
      await confirm();
      await expect.poll(inArchive, PATIENCE).toEqual([]);
    });

    test("the list follows what happens, and acts on several at once", async () => {
      const phases = ["Pending", "Running", "Succeeded", "Failed", "Error"];
      await open(
        `workflows/default?label=at%3Donce&${phases.map((one) => `phase=${one}`).join("&")}`,
      );
      await shows("No workflows");
      const two = ["both-a", "both-b"];
      for (const name of two) {
        await call(server, "POST", "workflows/default", {
          workflow: { metadata: { name, labels: { at: "once" } }, spec: SPECS.waits },
        });
      }
      for (const name of two) await row(name).waitFor();
      const act = async (words: string) => {
        for (const name of two) await row(name).locator("input[type=checkbox]").check();
        await button(words).click();
        await confirm();
      };
      await act("Terminate");
      for (const name of two) {
        await expect.poll(() => phase(name), PATIENCE).toBe("Failed");
        await reads(name, /true$/);
      }
      await act("Delete");
      await shows("Do you also want to delete them from the Archived Workflows database?");
      await confirm();
      for (const name of two) await row(name).waitFor({ state: "detached" });
      await expect.poll(() => names("archived-workflows?namePrefix=both-"), PATIENCE).toEqual([]);
      // The page deletes in both places at once; if the archive comes first, nothing is left to delete.
      const isSecond = (one: string) => /^404 DELETE .*\/workflows\/default\/both-/.test(one);
      expect(browser.troubles().filter((one) => !isSecond(one))).toEqual([]);
    });

    test("a finished workflow that is deleted while it is shown stays on the page", async () => {
      const spec = { entrypoint: "main", templates: [shell("main", "true")] };
      const workflow = { metadata: { name: "kept" }, spec };
      await call(server, "POST", "workflows/default", { workflow });
      await expect.poll(() => phase("kept"), PATIENCE).toBe("Succeeded");
      await openWorkflow("kept", "?tab=summary");
      await shows("Archived");
      await call(server, "DELETE", "workflows/default/kept");
      await shows("Persisted");
      expect(await text("Workflow gone").count()).toBe(0);
    });

    test("a node is run again by itself", async () => {
      const last = () => node("bad", "break(1)");
      const before = await last();
      await openWorkflow("bad", `?nodeId=${before.id}`);
      await button("Retry node").click();
      const [answer] = await Promise.all([
        browser.page.waitForResponse((response) => response.url().endsWith("/bad/retry")),
        button("Retry").last().click(),
      ]);
      expect(await answer.json()).toMatchObject({ metadata: { name: "bad" } });
      await expect.poll(() => phase("bad"), PATIENCE).toBe("Failed");
      expect((await last()).finishedAt).not.toBe(before.finishedAt);
    });

    /** Changes the text of the editor. */
    const edit = async (insert: string) => {
      const editor = browser.page.locator(".monaco-editor").filter({ visible: true }).last();
      await editor.locator(".view-line").first().click();
      await browser.page.keyboard.press("Control+Home");
      await browser.page.keyboard.press("End");
      await browser.page.keyboard.insertText(insert);
    };

    test.each([
      [
        "workflow-templates/default",
        "workflow-templates/default",
        "Workflow Template",
        "a-template",
      ],
      [
        "cluster-workflow-templates",
        "cluster-workflow-templates",
        "Cluster Workflow Template",
        "for-all",
      ],
      ["cron-workflows/default", "cron-workflows/default", "Cron Workflow", "nightly"],
    ])("%s: list, create, update, delete", async (path, api, words, known) => {
      await open(path);
      await shows(known);
      await button(`Create New ${words}`).click();
      await panel().locator(".monaco-editor .view-line").first().waitFor();
      await button("Create", panel()).click();
      await browser.page.waitForURL((url) =>
        /\/[a-z]+-[a-z]+$/.test(url.pathname.slice(path.length))
      );
      await expect.poll(async () => (await names(api)).length, PATIENCE).toBe(2);
      const [made = ""] = (await names(api)).filter((name) => name !== known);
      await open(`${path}/${made}`);
      if (words === "Cron Workflow") await text("MANIFEST").click();
      await edit("\nannotations: {edited: by-hand}");
      await button("Update").click();
      type Annotated = { metadata: { annotations?: Record<string, string> } };
      await expect.poll(
        async () => (await call<Annotated>(server, "GET", `${api}/${made}`)).metadata.annotations,
        PATIENCE,
      ).toMatchObject({ edited: "by-hand" });
      await button("Delete").click();
      await confirm();
      await expect.poll(() => names(api), PATIENCE).toEqual([known]);
    });

    test("a cron workflow is suspended, resumed and submitted", async () => {
      interface Cron {
        spec: { suspend?: boolean };
      }
      const isSuspended = async () =>
        (await call<Cron>(server, "GET", "cron-workflows/default/nightly")).spec.suspend ?? false;
      await open("cron-workflows/default/nightly");
      await button("Suspend").click();
      await expect.poll(isSuspended, PATIENCE).toBe(true);
      await button("Resume").click();
      await expect.poll(isSuspended, PATIENCE).toBe(false);
      await button("Submit").click();
      await browser.page.waitForURL(/\/workflows\/default\/nightly-\w+/);
    });

    test("events: bindings, and quiet pages for what belongs to another product", async () => {
      await open("workflow-event-bindings/default");
      await browser.page.locator("svg").getByText("a-template", { exact: true }).waitFor();
      await open("event-flow/default");
      await shows("Nothing to show");
      await open("event-sources/default");
      await shows("No event sources");
      await open("sensors/default");
      await shows("No sensors");
    });

    test("what can't be made here says what to use instead", async () => {
      await open("sensors/default");
      await button("Create New Sensor").click();
      await panel().locator(".monaco-editor .view-line").first().waitFor();
      await button("Create", panel()).click();
      await panel().getByText("/api/v1/events/default/").waitFor();
      expect(browser.troubles()).toEqual(["501 POST /argo/api/v1/sensors/default"]);
    });

    test("reports, user, API, plugins, help", async () => {
      await open("reports/default");
      await shows(/\d+ records/);
      await open("userinfo");
      await shows("Service Account Namespace");
      await shows("export ARGO_BASE_HREF=argo/");
      await open("apidocs");
      await shows("Download the Open API / Swagger spec.");
      const spec = await browser.page.request.get(
        `${server.url}/argo/assets/openapi-spec/swagger.json`,
      );
      expect(await spec.json()).toHaveProperty("paths");
      await open("plugins/default");
      await shows("To list plugins:");
      await open("help");
      await shows("Online Help");
    });

    test("who has a token gets in by the login page, and others don't", async () => {
      const { token, entry } = createToken("ana", []);
      const tokens = join(folder, "tokens.yaml");
      const access = join(folder, "access.yaml");
      await writeFile(tokens, stringify({ tokens: [entry] }));
      await writeFile(
        access,
        'rules: [{subjects: [ana], namespaces: ["*"], apiGroups: ["*"], resources: ["*"], verbs: ["*"]}]',
      );
      const guarded = await startServer([
        "--store=memory:",
        `--work-dir=${join(folder, "guarded")}`,
        `--argo-ui-dir=${pages.dir}`,
        "--auth-mode=client",
        `--token-file=${tokens}`,
        `--access-file=${access}`,
        "--user-namespace=team",
      ]);
      try {
        const login = async (words: string) => {
          await browser.page.locator("textarea").fill(words);
          await browser.page.locator("a", { hasText: "Login" }).last().click();
        };
        const { waits: spec } = SPECS;
        const workflow = { metadata: { name: "guarded" }, spec };
        await call(guarded, "POST", "workflows/team", { workflow }, token);
        await browser.page.goto(`${guarded.url}/argo/`);
        await browser.page.waitForURL(/\/argo\/login/);
        await login("Bearer sluice_wrong");
        await browser.page.waitForURL(/\/argo\/login\?/);
        const refusals = new Set<string>();
        const refused = () => {
          for (const trouble of browser.troubles()) refusals.add(trouble);
          // The pages do not always handle a refusal, whichever server refuses.
          refusals.delete("page error: Unauthorized");
          return [...refusals].sort();
        };
        const expected = ["401 GET /argo/api/v1/info", "401 GET /argo/api/v1/userinfo"];
        await expect.poll(refused, PATIENCE).toEqual(expected);
        await login(`Bearer ${token}`);
        await browser.page.waitForURL(/\/argo\/workflows\/team/);
        await shows("guarded");
        // The pages ask more than once, and the last refusal may come after the login.
        expect(refused()).toEqual(expected);
        const { id } = Object.values(
          (await call<Workflow>(guarded, "GET", "workflows/team/guarded", undefined, token)).status
            .nodes ?? {},
        ).find(({ displayName }) => displayName === "approve") ?? { id: "" };
        await browser.page.goto(`${guarded.url}/argo/workflows/team/guarded?nodeId=${id}`);
        await button("RESUME").last().click();
        await shows("Modify parameters");
        await confirm();
        await expect.poll(
          async () =>
            (await call<Workflow>(guarded, "GET", "workflows/team/guarded", undefined, token))
              .status
              .phase,
          PATIENCE,
        ).toBe("Succeeded");
        await browser.page.goto(`${guarded.url}/argo/userinfo`);
        await shows("ana");
      } finally {
        // The page must not lose its server.
        await browser.page.goto("about:blank");
        await guarded.kill();
      }
    });
  },
);
