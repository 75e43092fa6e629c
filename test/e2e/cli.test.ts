/** The command line as a person uses it, against a real server: what it prints, and its exit status. */
import { spawn } from "node:child_process";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import process from "node:process";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type ServerProcess, startServer } from "../support/server_process.ts";

const MAIN = fileURLToPath(new URL("../../src/cli/main.ts", import.meta.url));
const RUNTIME = "Deno" in globalThis ? ["run", "-A", "-q"] : [];
let folder: string;
let server: ServerProcess;

interface Outcome {
  out: string;
  err: string;
  status: number | null;
}

function run(command: string, args: string[], env: Record<string, string> = {}): Promise<Outcome> {
  const child = spawn(command, args, {
    cwd: folder,
    env: { PATH: process.env["PATH"], HOME: process.env["HOME"], NO_COLOR: "1", ...env },
    stdio: ["ignore", "pipe", "pipe"],
  });
  let out = "";
  let err = "";
  child.stdout.on("data", (chunk) => (out += chunk));
  child.stderr.on("data", (chunk) => (err += chunk));
  return new Promise((resolve) => child.once("close", (status) => resolve({ out, err, status })));
}

function sluice(...args: string[]): Promise<Outcome> {
  return run(process.execPath, [...RUNTIME, MAIN, ...args], { SLUICE_SERVER: server.url });
}

const WORKFLOW = `
apiVersion: argoproj.io/v1alpha1
kind: Workflow
metadata: { name: hello, labels: { app: shop } }
spec:
  entrypoint: say
  arguments: { parameters: [{ name: who, value: nobody }] }
  templates:
  - name: say
    container: { image: busybox, command: [echo, "hello {{workflow.parameters.who}}"] }
`;
const CRON = `
apiVersion: argoproj.io/v1alpha1
kind: CronWorkflow
metadata: { name: nightly }
spec:
  suspend: true
  schedules: ["0 1 * * *"]
  workflowSpec:
    entrypoint: say
    templates: [{ name: say, container: { image: busybox, command: ["true"] } }]
`;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "sluice-cli-"));
  await writeFile(join(folder, "hello.yaml"), WORKFLOW);
  await writeFile(join(folder, "typo.yaml"), WORKFLOW.replace("command:", "comand:"));
  await writeFile(join(folder, "cron.yaml"), CRON);
  server = await startServer(["--store=memory:", `--work-dir=${join(folder, "work")}`]);
});
afterAll(async () => {
  await server?.kill();
  await rm(folder, { recursive: true, force: true });
});

describe("workflows", () => {
  test("submit --wait tells how it ended, and get shows it", async () => {
    const made = await sluice("submit", "hello.yaml", "-p", "who=you", "--wait", "-o", "name");
    expect(made).toMatchObject({ status: 0, out: "hello\n" });
    const { out } = await sluice("get", "@latest");
    expect(out).toMatch(/^Name: +hello\n/);
    expect(out).toMatch(/^ {2}who: +you$/m);
    expect(out).toMatch(/^ ✔ hello +say +hello +\d+s$/m);
    expect(await sluice("wait", "hello")).toMatchObject({
      status: 0,
      out: expect.stringMatching(/^hello Succeeded at \d{4}-/),
    });
    expect((await sluice("logs", "hello")).out).toBe("hello: hello you\n");
  });

  test("metrics that a workflow defines are at /metrics", async () => {
    const file = join(folder, "measured.yaml");
    const metric =
      "{name: done, help: Done, labels: [{key: how, value: '{{status}}'}], counter: {value: '1'}}";
    const text = WORKFLOW.replace("name: hello,", "name: measured,")
      .replace("- name: say", `- name: say\n    metrics: {prometheus: [${metric}]}`);
    await writeFile(file, text);
    expect(await sluice("submit", file, "--wait", "-o", "name")).toMatchObject({ status: 0 });
    const answer = await fetch(`${server.url}/metrics`);
    expect(await answer.text()).toContain('argo_workflows_done{how="Succeeded"} 1');
    await sluice("delete", "measured");
    await rm(file);
  });

  test("list filters, and delete takes the same filters", async () => {
    const { out } = await sluice("list", "-l", "app=shop", "--completed", "--since", "1h");
    expect(out).toMatch(/^NAME +STATUS +AGE +DURATION +PRIORITY +MESSAGE\nhello +Succeeded /);
    expect((await sluice("list", "--older", "1h")).out).toBe("No workflows found\n");
    expect(await sluice("delete", "--prefix", "hel", "--dry-run")).toMatchObject({
      status: 0,
      out: "Workflow 'hello' deleted (dry-run)\n",
    });
    expect((await sluice("delete", "hello", "gone")).out).toBe(
      "Workflow 'hello' deleted\nWorkflow 'gone' not found\n",
    );
  });

  test("a field that does not exist is refused before anything is sent, unless that is not wanted", async () => {
    const refused = await sluice("submit", "typo.yaml");
    expect(refused).toMatchObject({
      status: 1,
      err: expect.stringContaining('unknown field "spec.templates[0].container.comand"'),
    });
    const { status, out } = await sluice(
      "submit",
      "typo.yaml",
      "--strict=false",
      "--dry-run",
      "-o",
      "name",
    );
    expect({ status, out }).toEqual({ status: 0, out: "hello\n" });
  });
});

describe("cron workflows", () => {
  test("backfill makes the workflows of passed times, each once", async () => {
    expect((await sluice("cron", "create", "cron.yaml")).out).toMatch(
      /^Schedules: +0 1 \* \* \*$/m,
    );
    const times = ["--start", "2026-01-01T00:00:00Z", "--end", "2026-01-02T12:00:00Z"];
    const { out, status } = await sluice("cron", "backfill", "nightly", ...times);
    expect(out).toMatch(/^workflow nightly-backfill-1767229200 created for 2026-01-01T01:00:00Z\n/);
    expect(out.match(/ Succeeded at /g)).toHaveLength(2);
    expect(status).toBe(0);
    const again = await sluice("cron", "backfill", "nightly", ...times);
    expect(again).toMatchObject({ status: 1, err: expect.stringContaining("already exists") });
    expect((await sluice("cron", "delete", "nightly")).out).toBe(
      "CronWorkflow 'nightly' deleted\n",
    );
  });
});

describe("lint", () => {
  test("tells every fault of every file, with the server or without", async () => {
    for (const offline of [[], ["--offline"]]) {
      const { out, status } = await sluice("lint", "-o", "simple", ...offline, ".");
      expect(out).toMatch(/^typo\.yaml: in "hello" \(Workflow\): .*comand/m);
      expect(out).not.toContain("hello.yaml:");
      expect(status).toBe(1);
    }
    expect(await sluice("lint", "hello.yaml")).toMatchObject({
      status: 0,
      out: "✔ no linting errors found!\n",
    });
  });
});

test.each([
  [["frobnicate"], 2, "unknown command 'frobnicate'"],
  [["list", "--bogus"], 2, "unknown option '--bogus'"],
  [["logs", "x", "--since", "soon"], 2, "--since takes a length of time"],
  [["stop"], 2, "Name a workflow"],
  [["submit", "--from", "foo"], 2, "--from takes KIND/NAME"],
  [["submit", "missing.yaml"], 1, "Cannot read missing.yaml"],
  [["get", "gone"], 1, 'workflows.argoproj.io "gone" not found'],
  [["-s", "127.0.0.1:9", "list"], 1, "Is the server running?"],
])("%j is refused with status %d", async (args, status, text) => {
  const outcome = await sluice(...args);
  expect(outcome).toMatchObject({ status, out: "", err: expect.stringContaining(text) });
});

test("bash completes commands, options and names that are on the server", async () => {
  await sluice("template", "create", await template());
  const script = `
    source <("$@" completion bash)
    try() { COMP_WORDS=(sluice "$@"); COMP_CWORD=$#; _sluice; echo "\${COMPREPLY[*]}"; }
    try te; try list --compl; try list -o js; try template get p; complete -p sluice`;
  const command = [process.execPath, ...RUNTIME, MAIN];
  const { out } = await run("bash", ["-c", script, "bash", ...command], {
    SLUICE_SERVER: server.url,
  });
  expect(out.split("\n")).toEqual([
    "terminate template test",
    "--completed",
    "json",
    "pot",
    "complete -o default -F _sluice sluice",
    "",
  ]);
});

async function template(): Promise<string> {
  const file = join(folder, "template.txt");
  const text = WORKFLOW.replace("kind: Workflow", "kind: WorkflowTemplate")
    .replace("name: hello,", "name: pot,");
  await writeFile(file, text);
  return file;
}
