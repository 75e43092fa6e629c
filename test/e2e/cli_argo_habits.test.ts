/** What people who know `argo` and kubectl type, and what they do with what is printed. */
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { freePort } from "../support/free_port.ts";
import { type ServerProcess, startServer } from "../support/server_process.ts";
import { type Outcome, runSluice } from "../support/sluice_cli.ts";

let folder: string;
let server: ServerProcess;

function sluice(...args: string[]): Promise<Outcome> {
  return runSluice(args, { cwd: folder, env: { SLUICE_SERVER: server.url } });
}

const TEMPLATE = `
apiVersion: argoproj.io/v1alpha1
kind: WorkflowTemplate
metadata: { name: one }
spec:
  entrypoint: say
  templates: [{ name: say, container: { image: busybox, command: ["true"] } }]
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
const FAILS = `
kind: Workflow
metadata: { name: fails, labels: { app: shop } }
spec:
  entrypoint: say
  templates: [{ name: say, container: { image: busybox, command: ["false"] } }]
`;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "sluice-habits-"));
  await writeFile(join(folder, "one.yaml"), TEMPLATE);
  await writeFile(join(folder, "two.yaml"), TEMPLATE.replace("name: one", "name: two"));
  await writeFile(join(folder, "cron.yaml"), CRON);
  await writeFile(join(folder, "fails.txt"), FAILS);
  server = await startServer(["--store=memory:", `--work-dir=${join(folder, "work")}`]);
});
afterAll(async () => {
  await server?.kill();
  await rm(folder, { recursive: true, force: true });
});

test("what -o yaml and -o json print is applied as it is", async () => {
  expect((await sluice("apply", "-f", folder)).out).toBe(
    "CronWorkflow nightly created\nWorkflowTemplate one created\nWorkflowTemplate two created\n",
  );
  const updated = "WorkflowTemplate one updated\nWorkflowTemplate two updated\n";
  for (
    const args of [
      ["get", "one", "two", "-o", "yaml"],
      ["list", "-o", "yaml"],
      ["list", "-o", "json"],
    ]
  ) {
    await writeFile(join(folder, "printed.txt"), (await sluice("template", ...args)).out);
    expect(await sluice("apply", "-f", "printed.txt")).toMatchObject({ out: updated, err: "" });
  }
});

test("cron update takes the options of cron create", async () => {
  await sluice("apply", "-f", "cron.yaml");
  const { out } = await sluice(
    ...["cron", "update", "cron.yaml", "--schedule", "0 2 * * *", "-p", "a=b", "-o", "json"],
  );
  expect(JSON.parse(out)).toMatchObject({
    kind: "CronWorkflow",
    spec: {
      schedules: ["0 2 * * *"],
      workflowSpec: { arguments: { parameters: [{ name: "a", value: "b" }] } },
    },
  });
});

test("a scheduled time is set also for a workflow of a template, and is a time", async () => {
  await sluice("apply", "-f", "one.yaml");
  const from = ["submit", "--from", "workflowtemplate/one", "--annotations", "a=b"];
  const { out } = await sluice(
    ...[...from, "--scheduled-time", "2026-01-31T12:00:00Z", "-o", "json"],
  );
  expect(JSON.parse(out)).toMatchObject({
    metadata: {
      annotations: { a: "b", "workflows.argoproj.io/scheduled-time": "2026-01-31T12:00:00Z" },
    },
  });
  expect(await sluice(...from, "--scheduled-time", "noon")).toMatchObject({
    status: 2,
    err: expect.stringContaining('received "noon"'),
  });
});

test("archived workflows are run again by selector, and found by what is said to be a name", async () => {
  await sluice("submit", "fails.txt", "--wait");
  const again = (...args: string[]) => sluice("archive", "resubmit", "-o", "name", ...args);
  for (const choice of [["-l", "app=shop"], ["--field-selector", "metadata.name=fails"]]) {
    expect(await again(...choice)).toMatchObject({
      status: 0,
      out: expect.stringMatching(/^fails-\w{5}\n$/),
    });
  }
  expect(await again("-l", "app=other")).toMatchObject({ status: 0, out: "" });
  expect(await again()).toMatchObject({ status: 2 });
  expect(await sluice("archive", "get", "fails", "--name", "-o", "name"))
    .toMatchObject({ status: 0, out: "fails\n" });
  expect(await sluice("archive", "get", "fails", "--uid")).toMatchObject({ status: 1 });
});

test("whoami says that a server without authentication asks nobody", async () => {
  const { status, out, err } = await sluice("auth", "whoami");
  expect([status, out]).toEqual([0, "serviceAccountNamespace: default\n"]);
  expect(err).toBe("This server asks nobody who they are: everybody may do everything.\n");
});

test("a parameter that a stored template lacks is warned of, with the one that was probably meant", async () => {
  const args = "arguments: { parameters: [{ name: branch, value: main }] }";
  await writeFile(
    join(folder, "build.txt"),
    TEMPLATE.replace("name: one", "name: build").replace(
      "entrypoint: say",
      `${args}\n  entrypoint: say`,
    ),
  );
  await writeFile(
    join(folder, "cluster.txt"),
    TEMPLATE.replace("name: one", "name: build").replace("kind: Workflow", "kind: ClusterWorkflow")
      .replace("entrypoint: say", `${args}\n  entrypoint: say`),
  );
  await writeFile(
    join(folder, "ref.txt"),
    "kind: Workflow\nmetadata: { generateName: ref- }\n" +
      "spec: { workflowTemplateRef: { name: build } }\n",
  );
  await sluice("apply", "-f", "build.txt", "cluster.txt");
  const submit = async (...words: string[]) => {
    const { status, err } = await sluice("submit", ...words, "-o", "name");
    return { status, err };
  };
  for (const kind of ["workflowtemplate", "wftmpl", "clusterworkflowtemplate", "cwftmpl"]) {
    expect(await submit("--from", `${kind}/build`, "-p", "brnch=x", "-p", "other=1")).toEqual({
      status: 0,
      err: `warning: ${kind}/build has no parameter "brnch": did you mean "branch"?\n` +
        `warning: ${kind}/build has no parameter "other"\n`,
    });
  }
  expect(await submit("ref.txt", "-p", "branc=x")).toEqual({
    status: 0,
    err: 'warning: workflowtemplate/build has no parameter "branc": did you mean "branch"?\n',
  });
  expect((await submit("--from", "cronwf/nightly", "-p", "x1=1")).err)
    .toBe('warning: cronwf/nightly has no parameter "x1"\n');
  expect(await submit("--from", "wftmpl/build", "-p", "branch=x")).toEqual({ status: 0, err: "" });
  expect(await submit("ref.txt", "-p", "branch=x")).toEqual({ status: 0, err: "" });
});

test("lint numbers the manifests of each file that have no name, and knows the short names of kinds", async () => {
  const nameless = 'kind: Workflow\nmetadata: {name: ""}\nspec: {entrypoint: none}\n';
  const files = ["first.txt", "second.txt"];
  for (const file of files) await writeFile(join(folder, file), `${nameless}---\n${CRON}`);
  for (const offline of [[], ["--offline"]]) {
    const { out } = await sluice("lint", "-o", "simple", "--kinds=wf,cronwf", ...offline, ...files);
    expect(out.split("\n").filter((line) => line !== "")).toEqual(
      files.map((file) => `${file}: in "object #1" (Workflow): template name 'none' undefined`),
    );
  }
});

test("lint takes fields in another case if it is not strict, with a server and without", async () => {
  await writeFile(join(folder, "case.txt"), FAILS.replace("entrypoint", "entryPoint"));
  for (const offline of [[], ["--offline"]]) {
    expect((await sluice("lint", ...offline, "case.txt")).status).toBe(1);
    expect((await sluice("lint", "--no-strict", ...offline, "case.txt")).status).toBe(0);
  }
});

test("objects of other programs are left out by lint and apply alike", async () => {
  const map = "apiVersion: v1\n  kind: ConfigMap\n  metadata: { name: sizes }\n";
  const three = TEMPLATE.replace("name: one", "name: three").trim().replaceAll("\n", "\n  ");
  await writeFile(join(folder, "list.txt"), `kind: List\nitems:\n- ${map}- ${three}\n`);
  const err = 'list.txt: ConfigMap "sizes" is left out: ' +
    '"sluice migrate argo -f FILE --apply" imports those\n';
  for (const words of [["lint"], ["lint", "--offline"], ["apply", "-f"]]) {
    expect(await sluice(...words, "list.txt")).toMatchObject({ status: 0, err });
  }
  await writeFile(join(folder, "map.txt"), `- ${map}`);
  expect((await sluice("lint", "map.txt")).status).toBe(1);
  expect((await sluice("apply", "-f", "map.txt")).status).toBe(2);
  await writeFile(
    join(folder, "kind.txt"),
    TEMPLATE.replace("WorkflowTemplate", "WorkflowTmplate"),
  );
  for (const words of [["lint"], ["apply", "-f"]]) {
    const { status, out, err } = await sluice(...words, "kind.txt");
    expect(status).toBeGreaterThan(0);
    expect(out + err).toContain("did you mean WorkflowTemplate?");
  }
});

test("one idempotency key is for one workflow, and a short option takes its value behind =", async () => {
  const both = `${FAILS}---${FAILS.replace("name: fails", "name: fails-too")}`;
  await writeFile(join(folder, "both.txt"), both);
  expect(await sluice("submit", "both.txt", "--idempotency-key", "k")).toMatchObject({
    status: 2,
    err: expect.stringContaining("--idempotency-key is for one workflow"),
  });
  expect(await sluice("submit", "fails.txt", "--name=once", "-o=name", "-l=app=b")).toMatchObject({
    status: 0,
    out: "once\n",
  });
  expect((await sluice("list", "-A=true", "-o=name", "-l=app=b")).out).toBe("once\n");
});

test("an empty folder, and an address where nobody listens, are named as they are", async () => {
  await mkdir(join(folder, "empty"));
  expect(await sluice("apply", "-f", "empty")).toMatchObject({
    status: 2,
    err: "Error: empty: no file .yaml, .yml or .json\n",
  });
  const free = await freePort();
  const { err } = await sluice("lint", `http://127.0.0.1:${free}/x`);
  expect(err).toMatch(/^Error: Cannot read http:\S+: .*refused/i);
});

test("a phase that no node has is refused, and what is no object reaches the server as it is", async () => {
  expect(await sluice("get", "fails", "--status", "failed")).toMatchObject({
    status: 2,
    err: expect.stringContaining("--status takes one of Pending, Running, "),
  });
  for (const wrong of ["spec: 5", "spec: {}\nmetadata: x"]) {
    await writeFile(join(folder, "wrong.txt"), `kind: Workflow\n${wrong}\n`);
    expect((await sluice("submit", "wrong.txt")).err).toContain("json: cannot unmarshal ");
  }
});

test("a backfill that is repeated starts nothing again, however few runs the cron workflow keeps", async () => {
  const cron = CRON.replace("name: nightly", "name: kept").replace(
    "suspend: true",
    "suspend: true\n  successfulJobsHistoryLimit: 1",
  );
  await writeFile(join(folder, "kept.txt"), cron);
  await sluice("cron", "create", "kept.txt");
  const times = ["--start", "2026-01-01T00:00:00Z", "--end", "2026-01-03T12:00:00Z"];
  const first = await sluice("cron", "backfill", "kept", ...times);
  expect(first.out.match(/ created for /g)).toHaveLength(3);
  const again = await sluice("cron", "backfill", "kept", ...times);
  expect(again.out).not.toContain("created");
  expect(again.err.match(/ is there already\n/g)).toHaveLength(3);
});

test("a cron workflow shows what its workflows are given, and --generate-name wins over the name of the manifest", async () => {
  await writeFile(
    join(folder, "given.txt"),
    CRON.replace("nightly", "given").replace(
      "entrypoint: say",
      "entrypoint: say\n    arguments: { parameters: [{ name: day, value: today }, { name: later }] }",
    ),
  );
  const create = (...more: string[]) => sluice("cron", "create", "given.txt", ...more);
  expect((await create("-p", "day=yesterday", "-p", "later=x")).out)
    .toMatch(/\nWorkflow Parameters:\n {2}day: +yesterday\n {2}later: +x\n$/);
  expect((await create("--generate-name", "given-", "-p", "later=x", "-o", "name")).out)
    .toMatch(/^given-\w{5}\n$/);
});

test("the list of the archive has the uids that its other commands take", async () => {
  await sluice("submit", "fails.txt", "--name", "kept", "--wait");
  const [head = "", ...rows] = (await sluice("archive", "list")).out.trim().split("\n");
  expect(head).toMatch(/^NAMESPACE +NAME +STATUS .* UID$/);
  const uid = rows.find((row) => row.split(/ +/)[1] === "kept")?.split(/ +/).at(-1) ?? "";
  expect((await sluice("archive", "get", uid, "-o", "name")).out).toBe("kept\n");
});

test("lint takes the short words for kinds", async () => {
  expect((await sluice("lint", "--kinds", "cronwf,wftmpl", "cron.yaml", "one.yaml")).out)
    .toBe("✔ no linting errors found!\n");
  expect((await sluice("lint", "--kinds", "wf", "cron.yaml")).status).toBe(1);
});

test("an output parameter between quotation marks is the text between them", async () => {
  await writeFile(
    join(folder, "asks.txt"),
    `
kind: Workflow
metadata: { name: asks }
spec:
  entrypoint: ask
  templates:
    - name: ask
      suspend: {}
      outputs:
        parameters: [{ name: a, valueFrom: { supplied: {} } }, { name: b, valueFrom: { supplied: {} } }]
`,
  );
  await sluice("submit", "asks.txt");
  const set = (...values: string[]) =>
    sluice("node", "set", "asks", "--node-field-selector", "displayName=asks", ...values);
  await expect.poll(() => set("--message", "m")).toMatchObject({ status: 0 });
  await set("-p", 'a="Hello, \\"world\\""', "-p", 'b="half');
  const { out } = await sluice("get", "asks", "-o", "json");
  expect(JSON.parse(out)).toMatchObject({
    status: {
      nodes: {
        asks: {
          outputs: {
            parameters: [{ name: "a", value: 'Hello, "world"' }, { name: "b", value: '"half' }],
          },
        },
      },
    },
  });
});

test("a misspelt field is refused also in a manifest without a kind, which create and update take", async () => {
  const plain = TEMPLATE.replace("kind: WorkflowTemplate\n", "").replace("name: one", "name: bare");
  await writeFile(join(folder, "plain.txt"), plain);
  await writeFile(join(folder, "typing.txt"), plain.replace("entrypoint", "entrypont"));
  for (const verb of ["create", "update"]) {
    expect(await sluice("template", verb, "typing.txt")).toMatchObject({
      status: 1,
      err: expect.stringContaining('"spec.entrypont": did you mean "entrypoint"?'),
    });
    expect(await sluice("template", verb, "plain.txt", "-o", "name"))
      .toMatchObject({ status: 0, out: "bare\n" });
  }
});

test("an address with the path of the API behind it is told from a request that nobody knows", async () => {
  expect(await runSluice(["-s", `${server.url}/api/v1`, "list"], { cwd: folder })).toMatchObject({
    status: 1,
    err: expect.stringContaining("the address has no /api/v1"),
  });
});

test("groups of a token have no blanks around them, and none is empty", async () => {
  const groups = async (text: string) =>
    (await sluice("token", "create", "--subject", "x", "--groups", text)).err;
  expect(await groups("a, b,")).toContain("groups:\n      - a\n      - b\n");
  expect(await groups("")).not.toContain('- ""');
});

test("convert leaves what is no manifest as it is, and names the file of what it can't convert", async () => {
  const account = "apiVersion: v1\nkind: ServiceAccount\nmetadata:\n  name: runner\n";
  await writeFile(
    join(folder, "older.txt"),
    `${account}---${CRON.replace('schedules: ["0 1 * * *"]', 'schedule: "0 1 * * *"')}`,
  );
  const { status, out } = await sluice("convert", "older.txt");
  expect(status).toBe(0);
  expect(out.startsWith(`---\n${account}`)).toBe(true);
  expect(out).toContain("schedules:\n  - 0 1 * * *\n");
  await writeFile(join(folder, "wrong.txt"), "kind: Workflow\nspec: 5\n");
  expect((await sluice("convert", "wrong.txt")).err)
    .toMatch(/^Error: wrong\.txt: json: cannot unmarshal /);
});
