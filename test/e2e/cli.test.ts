/** The command line as a person uses it, against a real server: its output and its exit status. */
import { existsSync } from "node:fs";
import { chmod, mkdir, mkdtemp, readFile, rm, stat, writeFile } from "node:fs/promises";
import { createServer } from "node:http";
import { createServer as createSecureServer } from "node:https";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import process from "node:process";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type ServerProcess, startServer } from "../support/server_process.ts";
import { type Outcome, runCommand, runSluice, SLUICE } from "../support/sluice_cli.ts";

let folder: string;
let server: ServerProcess;

function run(command: string, args: string[], env: Record<string, string> = {}): Promise<Outcome> {
  return runCommand(command, args, { cwd: folder, env });
}

function sluice(...args: string[]): Promise<Outcome> {
  return runSluice(args, { cwd: folder, env: { SLUICE_SERVER: server.url } });
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
  const kindless = WORKFLOW.replace(/^(kind|apiVersion):.*\n/gm, "");
  await writeFile(join(folder, "kindless.yaml"), kindless.replace("entrypoint:", "entrypiont:"));
  await writeFile(join(folder, "cron.yaml"), CRON);
  await writeFile(join(folder, "broken.txt"), "tokens: {");
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

  test("-o short shows the tree alone, as the reference's client does", async () => {
    expect((await sluice("get", "hello", "-o", "short")).out)
      .toMatch(/^STEP +TEMPLATE +DURATION +MESSAGE\n ✔ hello +say +\d+s\n$/);
  });

  test("logs of a pod that is not there are refused, and --tail -1 means all", async () => {
    expect(await sluice("logs", "hello", "nowhere")).toMatchObject({
      status: 1,
      err: 'Error: workflow hello has no pod nowhere; "sluice get hello" shows their names\n',
    });
    expect(await sluice("logs", "hello", "hello", "--grep", "nothing"))
      .toMatchObject({ status: 0, out: "" });
    expect((await sluice("logs", "hello", "--tail", "-1")).out).toBe("hello: hello you\n");
  });

  test("what cannot be read is named, with why", async () => {
    expect(await sluice("submit", ".")).toMatchObject({
      status: 1,
      err: "Error: Cannot read .: it is a folder, name files in it\n",
    });
    expect(await sluice("submit", "http://localhost:9/x.yaml")).toMatchObject({
      status: 1,
      err: expect.stringMatching(/^Error: Cannot read http:\/\/localhost:9\/x\.yaml: /),
    });
  });

  test("an address with a wrong path says what may be wrong", async () => {
    expect(await runSluice(["list"], { env: { SLUICE_SERVER: `${server.url}/nowhere` } }))
      .toMatchObject({ status: 1, err: expect.stringContaining("--argo-base-href") });
  });

  test("the archive names what it does not have", async () => {
    for (const verb of ["get", "delete", "retry", "resubmit"]) {
      expect(await sluice("archive", verb, "nowhere")).toMatchObject({
        status: 1,
        err: 'Error: archived workflow "nowhere" not found\n',
      });
    }
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

  test("wait looks for all of its workflows before it waits for any", async () => {
    const waiting = WORKFLOW.replace("name: hello", "name: waiting")
      .replace(/container: .*/, "suspend: {}");
    await writeFile(join(folder, "waiting.yaml"), waiting);
    await sluice("submit", "waiting.yaml");
    expect(await sluice("wait", "waiting", "nowhere")).toMatchObject({
      status: 1,
      out: "",
      err: expect.stringContaining('"nowhere" not found'),
    });
    const ended = sluice("wait", "waiting", "nowhere", "--ignore-not-found");
    await sluice("resume", "waiting");
    expect(await ended).toMatchObject({
      status: 0,
      out: expect.stringMatching(/^nowhere not found. Ignoring...\nwaiting Succeeded at /),
    });
    await sluice("delete", "waiting");
  });

  test("wait says that one was deleted, waits for the others, and fails", async () => {
    for (const name of ["kept", "dropped"]) {
      const waiting = WORKFLOW.replace("name: hello", `name: ${name}`)
        .replace(/container: .*/, "suspend: {}");
      await writeFile(join(folder, `${name}.yaml`), waiting);
      await sluice("submit", `${name}.yaml`);
    }
    const ended = sluice("wait", "kept", "dropped");
    await new Promise((resolve) => setTimeout(resolve, 1000));
    await sluice("delete", "dropped");
    await sluice("resume", "kept");
    expect(await ended).toMatchObject({
      status: 1,
      out: expect.stringMatching(/^kept Succeeded at /),
      err: "Error: workflow dropped was deleted\n",
    });
    await sluice("delete", "kept");
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

  test("of several manifests, those before a wrong one run and are shown, and the wrong one is named", async () => {
    const good = "kind: Workflow\nmetadata: {name: one}\n" +
      "spec: {entrypoint: main, templates: [{name: main, suspend: {}}]}\n";
    const file = join(folder, "two.yaml");
    await writeFile(
      file,
      `${good}---\n${good.replace("one", "two").replace("entrypoint: main", "entrypoint: man")}`,
    );
    expect(await sluice("submit", file, "-o", "name")).toEqual({
      status: 1,
      out: "one\n",
      err: `Error: ${file}: in "two": template name 'man' undefined\n`,
    });
    await sluice("delete", "one");
    await rm(file);
  });

  test("a field that does not exist is refused before anything is sent, unless that is not wanted", async () => {
    const refused = await sluice("submit", "typo.yaml");
    expect(refused).toMatchObject({
      status: 1,
      err: expect.stringContaining(
        'unknown field "spec.templates[0].container.comand": did you mean "command"?',
      ),
    });
    expect((await sluice("submit", "kindless.yaml")).err)
      .toContain('unknown field "spec.entrypiont": did you mean "entrypoint"?');
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

describe("completion", () => {
  const completed = async (...words: string[]) =>
    (await sluice("__complete", "--", ...words)).out.split("\n").filter((one) => one !== "");

  test("knows the flags of the server and what they take", async () => {
    expect(await completed("server", "--st")).toEqual(["--store", "--status-write-rate"]);
    expect(await completed("server", "--executor", "")).toEqual([
      "process",
      "container",
      "kubernetes",
      "none",
    ]);
    expect(await completed("server", "--store", "")).toEqual([]);
  });
});

describe("what a command did is told", () => {
  const WAITS = `
apiVersion: argoproj.io/v1alpha1
kind: Workflow
metadata: { name: waits }
spec:
  entrypoint: main
  templates:
  - name: main
    steps: [[{ name: one, template: gate }], [{ name: two, template: gate }]]
  - { name: gate, suspend: {} }
`;

  test("resume and stop name the steps, retry what its options made of it", async () => {
    await writeFile(join(folder, "waits.txt"), WAITS);
    await sluice("submit", "waits.txt");
    await expect.poll(async () => (await sluice("list")).out, { timeout: 30_000 }).toMatch(
      /^waits +Running \(Suspended\) /m,
    );
    const selected = (name: string) => ["--node-field-selector", `displayName=${name}`];
    expect(await sluice("resume", "waits", ...selected("one"))).toMatchObject({
      out: "workflow waits resumed\n",
      err: "only this waiting step succeeded: one\n",
    });
    expect(await sluice("stop", "waits", ...selected("two"), "--message", "no")).toMatchObject({
      out: "workflow waits stopped\n",
      err: "only this waiting step failed: two\n",
    });
    expect(await sluice("wait", "waits")).toMatchObject({ status: 1 });
    for (
      const [options, note] of [
        [selected("one"), "--node-field-selector has no effect without --restart-successful"],
        [
          ["--restart-successful"],
          "--restart-successful has no effect without --node-field-selector",
        ],
        [["--restart-successful", ...selected("zzz")], "no node of waits matches displayName=zzz"],
        [["--restart-successful", ...selected("one")], "selected to run again: one"],
      ] as const
    ) {
      const { err, status } = await sluice("retry", "waits", ...options);
      expect({ err, status }).toEqual({ err: expect.stringContaining(note), status: 0 });
      const stopped = await sluice("stop", "waits", "--message", "again");
      expect(stopped.err).toContain("no further step begins");
      await sluice("wait", "waits");
    }
    expect((await sluice("get", "waits")).out).toContain("Stopped with strategy 'Stop': again");
    expect((await sluice("retry", "--help")).out).toMatch(/templateRef\.template=\S+,phase=Failed/);
    await sluice("delete", "waits");
  });

  test("apply tells which manifest was refused, and what was applied before it", async () => {
    const file = join(folder, "several.txt");
    const kept = WORKFLOW.replace("kind: Workflow", "kind: WorkflowTemplate");
    const bad = kept.replace("name: hello,", "name: second,").replace(
      "entrypoint: say",
      "entrypoint: nowhere",
    );
    const last = kept.replace("name: hello,", "name: third,");
    await writeFile(file, [kept, bad, last].join("\n---\n"));
    const { out, err, status } = await sluice("apply", "-f", file);
    expect(out).toBe("WorkflowTemplate hello created\n");
    expect(err).toMatch(/several\.txt: WorkflowTemplate second: .*nowhere/);
    expect(err).toContain("applied before it: 1, not tried: 1");
    expect(status).toBe(1);
    await writeFile(file, "kind: Pod\nmetadata: { name: p }\n");
    expect(await sluice("apply", "--no-strict", "-f", file)).toMatchObject({
      status: 2,
      err: expect.stringMatching(/several\.txt: Pod p: expected one of Workflow, /),
    });
    await writeFile(file, kept.replace("name: hello,", "name: hello, uid: of-another,"));
    expect((await sluice("apply", "-f", file)).out).toBe("WorkflowTemplate hello updated\n");
    await sluice("template", "delete", "hello");
    await rm(file);
  });

  test("event list has one line for each event, whatever was sent", async () => {
    await sluice("event", "send", "two\nlines\u001b[31m", "--data", "1");
    await expect.poll(async () => (await sluice("event", "list")).out, { timeout: 30_000 })
      .toMatch(/ done /);
    const { out } = await sluice("event", "list");
    expect(out.trimEnd().split("\n")).toHaveLength(2);
    expect(out).toContain("two\\u000alines\\u001b[31m");
  });

  test("a reader that leaves early is no failure", async () => {
    const script = '"$@" completion bash | head -1; echo "${PIPESTATUS[0]}"';
    const command = SLUICE;
    for (const args of [["completion", "bash"], ["--help"], ["list"]]) {
      const piped = script.replace("completion bash", args.join(" "));
      const { out, err } = await run("bash", ["-c", piped, "bash", ...command], {
        SLUICE_SERVER: server.url,
      });
      expect({ args, err, status: out.trimEnd().split("\n").at(-1) }).toEqual({
        args,
        err: "",
        status: "0",
      });
    }
    const closed = await run("bash", [
      "-c",
      '{ sleep 1; "$@" list -A; echo "$?" >&2; } | true',
      "bash",
      ...command,
    ], {
      SLUICE_SERVER: server.url,
    });
    expect(closed.err).toBe("0\n");
  });

  test.skipIf(!existsSync("/dev/full"))("a disk that is full is told on one line", async () => {
    const full = await run("bash", ["-c", '"$@" list > /dev/full', "bash", ...SLUICE], {
      SLUICE_SERVER: server.url,
    });
    expect(full).toMatchObject({
      status: 1,
      err: expect.stringMatching(/^Error: .*no space left.*\n$/i),
    });
  });

  test("lengths of time are readable in the help of the server", async () => {
    const main = fileURLToPath(new URL("../../src/main.ts", import.meta.url));
    const [program, ...first] = SLUICE;
    const { out } = await run(program, [...first.slice(0, -1), main, "--help"]);
    expect(out).toContain("Default 7d; variable SLUICE_DELIVERY_AGE");
    expect(out).not.toMatch(/Default \d{4,}ms/);
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
    await sluice("delete", "nightly-backfill-1767315600");
    const again = await sluice("cron", "backfill", "nightly", ...times);
    expect(again.err).toBe(
      "workflow nightly-backfill-1767229200 for 2026-01-01T01:00:00Z is there already\n",
    );
    expect(again.out).toContain("workflow nightly-backfill-1767315600 created");
    expect(again.out.match(/ Succeeded at /g)).toHaveLength(2);
    expect(again.status).toBe(0);
    expect((await sluice("cron", "delete", "nightly")).out).toBe(
      "CronWorkflow 'nightly' deleted; its workflows are deleted with it\n",
    );
  });
});

describe("open", () => {
  test(
    "prints the address of a page that is there, and opens it where there is a browser",
    async () => {
      await sluice("submit", "hello.yaml", "-o", "name");
      const address = `${server.url}/workflows/default/hello`;
      expect(await sluice("open", "hello")).toMatchObject({
        status: 0,
        out: `${address}\n`,
        err: "",
      });
      const page = await fetch(address);
      expect([page.status, page.headers.get("content-type")]).toEqual([
        200,
        expect.stringContaining("text/html"),
      ]);

      const bin = join(folder, "bin");
      await mkdir(bin);
      const browser = (text: string) =>
        writeFile(join(bin, "xdg-open"), `#!/bin/sh\n${text}\n`, { mode: 0o755 });
      const opened = join(folder, "opened");
      const open = (...args: string[]) =>
        runSluice(["open", ...args], {
          cwd: folder,
          env: {
            SLUICE_SERVER: server.url,
            DISPLAY: ":0",
            PATH: `${bin}:${process.env["PATH"]}`,
          },
        });
      await browser(`echo "$1" > ${opened}`);
      expect(await open("@latest")).toMatchObject({
        status: 0,
        out: "",
        err: `Opened ${address}\n`,
      });
      expect(await readFile(opened, "utf8")).toBe(`${address}\n`);
      await rm(opened);
      expect(await open("hello", "--print")).toMatchObject({ status: 0, out: `${address}\n` });
      await expect(readFile(opened)).rejects.toThrow();
      await browser("exit 3");
      expect(await open("hello")).toMatchObject({ status: 0, out: `${address}\n` });
      expect(await open("gone")).toMatchObject({
        status: 1,
        out: "",
        err: expect.stringContaining('"gone" not found'),
      });
      await sluice("delete", "hello");
    },
    60_000,
  );
});

test("submit names the kind that was probably meant", async () => {
  await writeFile(join(folder, "kind.yml"), "{kind: Workflwo, metadata: {name: k}, spec: {}}");
  expect(await sluice("submit", "kind.yml")).toMatchObject({
    status: 2,
    err: "Error: submit takes Workflows, kind.yml holds a Workflwo: did you mean Workflow?\n",
  });
  await rm(join(folder, "kind.yml"));
});

test("submit warns of a parameter that nothing reads", async () => {
  const spec = "entrypoint: a, arguments: {parameters: [{name: region, value: eu}]}, " +
    "templates: [{name: a, suspend: {}}]";
  await writeFile(join(folder, "p.yml"), `{kind: Workflow, metadata: {name: p}, spec: {${spec}}}`);
  expect(await sluice("submit", "p.yml", "-p", "regoin=us", "-o", "name")).toMatchObject({
    status: 0,
    out: "p\n",
    err: 'p.yml: warning: nothing reads the parameter "regoin": did you mean "region"?\n',
  });
  await sluice("delete", "p");
  const { err } = await sluice("submit", "p.yml", "-p", "region=us");
  expect(err).toBe("");
  await sluice("delete", "p");
  await rm(join(folder, "p.yml"));
}, 60_000);

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

  test("names the manifest that can't be read, with the server or without", async () => {
    const spec = "entrypoint: a, priority: high, templates: [{name: a, suspend: {}}]";
    const odd = `{kind: Workflow, metadata: {name: odd}, spec: {${spec}}}`;
    await writeFile(join(folder, "odd.yml"), `${odd.replace("priority: high, ", "")}\n---\n${odd}`);
    for (const offline of [[], ["--offline"]]) {
      const { out } = await sluice("lint", "-o", "simple", ...offline, "odd.yml");
      expect(out).toMatch(/^odd\.yml: in "odd" \(Workflow\): json: .*priority/);
      expect(out).toContain("(at spec.priority, line 3: write a whole number there)");
    }
    await writeFile(join(folder, "odd.yml"), odd);
    for (const command of [["submit"], ["apply", "-f"]]) {
      expect((await sluice(...command, "odd.yml")).err).toContain("(at spec.priority, line 1: ");
    }
    await rm(join(folder, "odd.yml"));
  });

  test("leaves out workflow tests that lie beside manifests, as an apply does", async () => {
    const examples = join(import.meta.dirname ?? "", "../../examples");
    for (const offline of [[], ["--offline"]]) {
      expect(await sluice("lint", ...offline, examples)).toMatchObject({
        status: 0,
        out: "✔ no linting errors found!\n",
        err: expect.stringContaining('retry.test.yaml: a workflow test, which "sluice test" reads'),
      });
    }
    expect(await sluice("apply", "-f", join(examples, "retry.test.yaml"))).toMatchObject({
      status: 2,
      err: expect.stringContaining('only workflow tests, which "sluice test" reads'),
    });
  });

  test("leaves out files of a folder that are no manifests", async () => {
    const mixed = join(folder, "mixed");
    await mkdir(mixed);
    await writeFile(join(mixed, "package.json"), '{"name": "x", "version": "1.0.0"}');
    await writeFile(
      join(mixed, "wf.yaml"),
      "{kind: Workflow, metadata: {name: m}, spec: {entrypoint: a, templates: [{name: a, suspend: {}}]}}",
    );
    for (const offline of [[], ["--offline"]]) {
      expect(await sluice("lint", ...offline, "mixed")).toMatchObject({
        status: 0,
        out: "✔ no linting errors found!\n",
        err: expect.stringContaining(
          "package.json: what has no kind, metadata or spec is left out",
        ),
      });
    }
    expect((await sluice("lint", "--offline", join("mixed", "package.json"))).out)
      .toMatch(/^✖ found nothing to lint/);
    await rm(mixed, { recursive: true });
  });

  test("says which kind was probably meant, and what it found instead of manifests", async () => {
    const kind = (kind: string, apiVersion = "argoproj.io/v1alpha1") =>
      writeFile(join(folder, "kind.yml"), `{apiVersion: ${apiVersion}, kind: ${kind}, spec: {}}`);
    for (const offline of [[], ["--offline"]]) {
      const lint = () => sluice("lint", "-o", "simple", ...offline, "kind.yml");
      await kind("Worklow");
      expect(await lint()).toMatchObject({
        status: 1,
        out: 'kind.yml: in "object #1" (Worklow): unknown kind: did you mean Workflow?\n',
      });
      for (const other of ["WorkflowTaskSet", "Sensor"]) {
        await kind(other);
        expect(await lint()).toMatchObject({
          status: 1,
          out: expect.stringMatching(/^✖ found nothing to lint/),
          err: expect.stringContaining(`found ${other}; this checks Workflow, `),
        });
      }
      await kind("Template", "template.openshift.io/v1");
      expect((await lint()).out).toMatch(/^✖ found nothing to lint/);
    }
    await rm(join(folder, "kind.yml"));
  });

  test("warns of what has no effect, which is no fault", async () => {
    const spec = `entrypoint: a, templates: [{name: a, activeDeadlineSeconds: 5, suspend: {}}]`;
    await writeFile(
      join(folder, "vain.yml"),
      `{kind: Workflow, metadata: {name: v}, spec: {${spec}}}`,
    );
    for (const offline of [[], ["--offline"]]) {
      const { out, err, status } = await sluice("lint", ...offline, "vain.yml");
      expect({ out, status }).toEqual({ out: "✔ no linting errors found!\n", status: 0 });
      expect(err).toContain(
        'vain.yml: warning: in "v" (Workflow): spec.templates[0].activeDeadlineSeconds has no effect',
      );
    }
  });
});

test.each([
  [["frobnicate"], 2, "Error: unknown command 'frobnicate'"],
  [["list", "--bogus"], 2, "unknown option '--bogus'"],
  [["logs", "x", "--since", "soon"], 2, "--since takes a length of time"],
  [["stop"], 2, "Name a workflow"],
  [["delete", "--selector", ""], 2, "Name a workflow"],
  [["terminate", "--selector=", "--field-selector="], 2, "Name a workflow"],
  [["delete", ""], 2, "A name is empty"],
  [["get", "hello", ""], 2, "A name is empty"],
  [["template", "delete", ""], 2, "A name is empty"],
  [
    ["list", "--status", "Failed,Succeded"],
    2,
    '--status takes Pending, Running, Succeeded, Failed, Error, received "Succeded"',
  ],
  [["token", "create", "--subject", ""], 2, "--subject is empty"],
  [["token", "create", "--subject", "x", "--file", "broken.txt"], 1, "broken.txt: Flow"],
  [["token", "create", "--subject", "x", "--file", "."], 1, "Cannot read .: it is a folder"],
  [["submit", "hello.yaml", "-f", "broken.txt"], 1, "broken.txt: line "],
  [["event", "send", "--data", "1", "--file", "hello.yaml"], 2, "not both"],
  [["submit", "--from", "foo"], 2, "--from takes KIND/NAME"],
  [["submit", "missing.yaml"], 1, "Cannot read missing.yaml"],
  [["get", "gone"], 1, 'workflows.argoproj.io "gone" not found'],
  [["-s", "127.0.0.1:9", "list"], 1, "Is the server running?"],
])("%j is refused with status %d", async (args, status, text) => {
  const outcome = await sluice(...args);
  expect(outcome).toMatchObject({ status, out: "", err: expect.stringContaining(text) });
});

test("a token that is added to a file leaves its rights as they are", async () => {
  const file = join(folder, "shared-tokens.yaml");
  await sluice("token", "create", "--subject", "first", "--file", file);
  expect((await stat(file)).mode & 0o777).toBe(0o600);
  await chmod(file, 0o640);
  await sluice("token", "create", "--subject", "second", "--file", file);
  expect((await stat(file)).mode & 0o777).toBe(0o640);
});

test("followed logs go on when the server is replaced, and end with the workflow", async () => {
  const flags = [
    `--store=sqlite:${join(folder, "replaced")}`,
    `--work-dir=${join(folder, "work2")}`,
  ];
  const first = await startServer(flags);
  const talks = "for i in $(seq 60); do echo line $i; sleep 0.2; done";
  const container = { image: "x", command: ["sh", "-c"], args: [talks] };
  const spec = { entrypoint: "main", templates: [{ name: "main", container }] };
  const manifest = { kind: "Workflow", metadata: { name: "talks" }, spec };
  await writeFile(join(folder, "talks.json"), JSON.stringify(manifest));
  await sluice("-s", first.url, "submit", "talks.json");
  const begun = Promise.withResolvers<void>();
  const following = runSluice(["-s", first.url, "logs", "talks", "-f"], {
    cwd: folder,
    onStart: ({ stdout }) => void stdout?.once("data", () => begun.resolve()),
  });
  await begun.promise;
  await first.stop();
  const second = await startServer([...flags, `--port=${first.port}`]);
  const { out, err, status } = await following;
  await second.kill();
  expect(out).toBe(Array.from({ length: 60 }, (_, at) => `talks: line ${at + 1}\n`).join(""));
  expect(err).toContain("trying again");
  expect(status).toBe(0);
}, 120_000);

test("bash completes commands, options and names that are on the server", async () => {
  await sluice("template", "create", await template());
  const script = `
    source <("$@" completion bash)
    try() { COMP_WORDS=(sluice "$@"); COMP_CWORD=$#; _sluice; echo "\${COMPREPLY[*]}"; }
    try te; try list --compl; try list -o js; try template get p; complete -p sluice`;
  const command = SLUICE;
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

test("if a server speaks TLS and is asked without it, there is a hint at https", async () => {
  const secure = createSecureServer({});
  const port = await new Promise((resolve) =>
    secure.listen(0, "127.0.0.1", () => resolve((secure.address() as AddressInfo).port))
  );
  try {
    const { err, status } = await runSluice(["-s", `http://127.0.0.1:${port}`, "list"]);
    expect(err).toContain("If it speaks TLS, write https:// before its address");
    expect(status).toBe(1);
  } finally {
    secure.close();
  }
});

test("bash never runs what a server gives as a name", async () => {
  const names = ["$(touch ran)x", "`touch ran`", "good-1"];
  const hostile = createServer((_request, response) => {
    response.setHeader("content-type", "application/json");
    response.end(JSON.stringify({ items: names.map((name) => ({ metadata: { name } })) }));
  });
  const port = await new Promise((resolve) =>
    hostile.listen(0, "127.0.0.1", () => resolve((hostile.address() as AddressInfo).port))
  );
  const script = `
    source <("$@" completion bash)
    COMP_WORDS=(sluice get ""); COMP_CWORD=2; _sluice; echo "\${COMPREPLY[*]}"; ls`;
  try {
    const { out } = await run("bash", ["-c", script, "bash", ...SLUICE], {
      SLUICE_SERVER: `http://127.0.0.1:${port}`,
    });
    expect(out.split("\n")[0]).toBe("good-1");
    expect(out.split("\n")).not.toContain("ran");
  } finally {
    hostile.close();
  }
});

async function template(): Promise<string> {
  const file = join(folder, "template.txt");
  const text = WORKFLOW.replace("kind: Workflow", "kind: WorkflowTemplate")
    .replace("name: hello,", "name: pot,");
  await writeFile(file, text);
  return file;
}

test("callback prints the URLs of a step that waits", async () => {
  await writeFile(
    join(folder, "wait.yaml"),
    "metadata: { name: called }\nspec: { entrypoint: main, templates: [{ name: main, suspend: {} }] }\n",
  );
  await sluice("submit", "wait.yaml");
  const selector = ["--node-field-selector", "displayName=called"];
  const shown = await sluice("callback", "called", ...selector, "--expires", "1h");
  expect(shown).toMatchObject({ status: 0, err: "" });
  const url = /^ {2}resume {4}(\S+)$/m.exec(shown.out)?.[1] ?? "";
  expect(url).toMatch(new RegExp(`^${server.url}/callback/resume/cb1\\.`));
  expect((await fetch(url, { method: "POST" })).status).toBe(200);
  const late = await sluice("callback", "called", ...selector);
  expect(late).toMatchObject({ status: 1, err: expect.stringContaining("no step that waits") });
});

test("archive finds a workflow by its name, also to run it again", async () => {
  const failing = WORKFLOW.replace("name: hello,", "name: gone-wrong,").replace(
    "[echo,",
    '["false",',
  );
  await writeFile(join(folder, "failing.yaml"), failing);
  expect(await sluice("submit", "failing.yaml", "--wait", "-o", "name"))
    .toMatchObject({ status: 1, out: "gone-wrong\n" });
  const again = ["archive", "retry", "gone-wrong", "--wait", "-o", "name"];
  expect(await sluice(...again)).toMatchObject({ status: 1, out: "gone-wrong\n" });
  const copy = await sluice("archive", "resubmit", "gone-wrong", "-o", "name");
  expect(copy).toMatchObject({ status: 0, out: expect.stringMatching(/^gone-wrong-\w{5}\n$/) });
  const missing = await sluice("archive", "retry", "missing");
  expect(missing).toMatchObject({ status: 1, err: expect.stringContaining("not found") });
});

test("doctor shows what is wrong and what to do, and its exit status tells", async () => {
  const shown = await sluice("doctor");
  expect(shown.status).toBe(1);
  expect(shown.out).toMatch(/^✔ store: it answers in \d+ ms and takes writes$/m);
  expect(shown.out).toMatch(/^✖ durability: .*\n {4}→ use sqlite:FOLDER/m);
  expect(shown.out).toMatch(/^✔ version: server and command line are /m);
  const asJson = await sluice("doctor", "-o", "json");
  expect(asJson.status).toBe(1);
  const { findings } = JSON.parse(asJson.out) as { findings: { check: string }[] };
  expect(findings.map(({ check }) => check)).toEqual([
    "store",
    "durability",
    "archive",
    "clock",
    "replicas",
    "cluster",
    "artifacts",
    "webhooks",
    "subscriptions",
    "version",
    "own clock",
  ]);
});
