// deno-lint-ignore-file no-console -- a program for the terminal
/**
 * `deno task schemathesis [--examples N] [--seed N] [--only REGEX] [--auth] [--coverage]`: tests a server with real data in its
 * store against its own `/openapi.json`, with every check of schemathesis (from PyPI, in an environment that is made
 * here once).
 *
 * A server that runs steps makes the data. The generated requests then go to one that runs none (`--executor none`),
 * over the same store. `--auth` requires tokens, `--only` selects operations whose id matches, `--coverage` adds the
 * deterministic phase, which takes hours for bodies that contain manifests and therefore leaves those out. `--seed` makes the
 * same requests again. Exits with status 1 if a check failed. One may fail that is no fault: a body of nothing but white
 * space counts as none, as in the reference, and the tool takes it for JSON that is broken.
 */
import { type ChildProcess, spawn, spawnSync } from "node:child_process";
import { existsSync } from "node:fs";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import process from "node:process";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { stringify } from "yaml";
import { createToken } from "../src/auth/token_file.ts";
import { startServer } from "../test/support/server_process.ts";

const PACKAGE = "schemathesis==4.32.5";
/** Made once and kept. */
const ENVIRONMENT = join(tmpdir(), `sluice-${PACKAGE.replace("==", "-")}`);
const SETTINGS = fileURLToPath(new URL("../schemathesis.toml", import.meta.url));
const NAMESPACE = "default";
const SEED_TIMEOUT_MS = 60_000;
/** Operations whose bodies contain a whole manifest. */
const LARGE = "(Create|Update|Lint)(Workflow|ClusterWorkflow|CronWorkflow)";

/** The program in its environment, which is made if it does not exist. */
function schemathesisProgram(): string {
  const bin = join(ENVIRONMENT, "bin");
  if (!existsSync(join(bin, "st"))) {
    call("python3", ["-m", "venv", ENVIRONMENT]);
    call(join(bin, "python"), [
      "-m",
      "pip",
      "install",
      "-q",
      "--disable-pip-version-check",
      PACKAGE,
    ]);
  }
  return join(bin, "st");
}

function call(command: string, args: string[]): void {
  const { status, error } = spawnSync(command, args, { stdio: ["ignore", "inherit", "inherit"] });
  if (status !== 0) throw new Error(`${command} ${args.join(" ")} failed: ${error ?? status}`);
}

/** Waits without blocking: meanwhile the server's log must be read, or the server would wait for its reader. */
function statusOf(child: ChildProcess): Promise<number> {
  return new Promise((resolve) => child.once("exit", (status) => resolve(status ?? 1)));
}

type Api = (method: string, path: string, body?: unknown) => Promise<Record<string, unknown>>;

function apiOf(url: string): Api {
  return async (method, path, body) => {
    const response = await fetch(`${url}${path}`, {
      method,
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    const text = await response.text();
    if (!response.ok) throw new Error(`${method} ${path}: ${response.status} ${text}`);
    return JSON.parse(text);
  };
}

const ECHO = {
  name: "main",
  container: { image: "busybox", command: ["sh", "-c", "echo hello > out.txt; echo logged"] },
  outputs: { artifacts: [{ name: "out", path: "out.txt", archive: { none: {} } }] },
};
const WAIT = { name: "main", suspend: {} };
const FAIL = { name: "main", container: { image: "busybox", command: ["false"] } };

/** Makes every kind of stored object, and workflows in every state; returns the names that requests should hit. */
async function makeData(api: Api): Promise<Record<string, string[]>> {
  const specOf = (template: unknown) => ({ entrypoint: "main", templates: [template] });
  const workflows = { done: ECHO, waiting: WAIT, failed: FAIL, again: FAIL };
  for (const [name, template] of Object.entries(workflows)) {
    const workflow = { metadata: { name, labels: { team: "a" } }, spec: specOf(template) };
    await api("POST", `/api/v1/workflows/${NAMESPACE}`, { workflow });
  }
  const upload = { arguments: { artifacts: [{ name: "food", s3: { key: "food" } }] } };
  const template = { metadata: { name: "stored" }, spec: { ...specOf(WAIT), ...upload } };
  await api("POST", `/api/v1/workflow-templates/${NAMESPACE}`, { template });
  await api("POST", "/api/v1/cluster-workflow-templates", { template });
  await api("POST", `/api/v1/cron-workflows/${NAMESPACE}`, {
    cronWorkflow: {
      metadata: { name: "stored" },
      spec: { schedules: ["0 3 * * *"], workflowSpec: specOf(WAIT) },
    },
  });
  await api("POST", `/api/v1/workflow-event-bindings/${NAMESPACE}`, {
    binding: {
      metadata: { name: "stored" },
      spec: {
        event: { selector: 'discriminator == "go"' },
        submit: { workflowTemplateRef: { name: "stored" } },
      },
    },
  });
  await api("POST", `/api/v1/events/${NAMESPACE}/go`, {});
  await api("POST", `/api/v1/sync/${NAMESPACE}`, { cmName: "limits", key: "stored", limit: 2 });
  const until = performance.now() + SEED_TIMEOUT_MS;
  const ended = { done: "Succeeded", failed: "Failed", again: "Failed", waiting: "Running" };
  const uids: string[] = [];
  for (const [name, phase] of Object.entries(ended)) {
    for (;;) {
      const { metadata, status } = await api("GET", `/api/v1/workflows/${NAMESPACE}/${name}`) as {
        metadata: { uid: string };
        status: { phase?: string };
      };
      if (status.phase === phase) {
        uids.push(metadata.uid);
        break;
      }
      if (performance.now() > until) throw new Error(`${name} is ${status.phase}, not ${phase}`);
      await sleep(100);
    }
  }
  const { items } = await api("GET", `/api/v1/event-deliveries/${NAMESPACE}`) as {
    items: { id: string }[];
  };
  return {
    namespace: [NAMESPACE],
    name: [...Object.keys(workflows), "stored", "@latest"],
    uid: uids,
    id: [...items.map(({ id }) => id), ...uids, ...Object.keys(workflows)],
    nodeId: Object.keys(workflows),
    podName: Object.keys(workflows),
    artifactName: ["out", "main-logs", "food"],
    templateName: ["stored"],
    discriminator: ["go"],
    key: ["stored"],
    cmName: ["limits"],
    resourceKind: ["WorkflowTemplate", "CronWorkflow", "ClusterWorkflowTemplate"],
    resourceName: ["stored"],
    nodeFieldSelector: ["displayName=waiting", "phase=Failed"],
  };
}

/** The settings of the project, and values that half of the requests take from the data. */
async function settingsWith(data: Record<string, string[]>): Promise<string> {
  const bodyMembers = new Set([
    "resourceKind",
    "resourceName",
    "nodeFieldSelector",
    "cmName",
    "key",
    "namespace",
  ]);
  const lines = ["[parameters]"];
  for (const name of Object.keys(data)) {
    const places = bodyMembers.has(name) ? [`"${name}"`, `"body.${name}"`] : [`"${name}"`];
    for (const place of places) {
      lines.push(`${place} = { dictionary = "${name}", probability = 0.7 }`);
    }
  }
  for (const [name, values] of Object.entries(data)) {
    lines.push(`[dictionaries.${name}]`, `values = ${JSON.stringify(values)}`);
  }
  return `${await readFile(SETTINGS, "utf8")}\n${lines.join("\n")}\n`;
}

async function main(args: string[]): Promise<number> {
  const valueOf = (flag: string) => {
    const at = args.indexOf(flag);
    return at < 0 ? undefined : args[at + 1];
  };
  const program = schemathesisProgram();
  const folder = await mkdtemp(join(tmpdir(), "sluice-schemathesis-"));
  const store = [`--store=sqlite:${join(folder, "store")}`];
  try {
    const maker = await startServer([...store, "--executor=process"]);
    const data = await makeData(apiOf(maker.url));
    await maker.stop();
    const settings = join(folder, "schemathesis.toml");
    await writeFile(settings, await settingsWith(data));
    const { token, entry } = createToken("tester", []);
    const [tokens, access] = [join(folder, "tokens.yaml"), join(folder, "access.yaml")];
    await writeFile(tokens, stringify({ tokens: [entry] }));
    const all = { namespaces: ["*"], apiGroups: ["*"], resources: ["*"], verbs: ["*"] };
    await writeFile(access, stringify({ rules: [{ subjects: ["tester"], ...all }] }));
    const isGuarded = args.includes("--auth");
    const server = await startServer([
      ...store,
      "--executor=none",
      ...(isGuarded
        ? ["--auth-mode=client", `--token-file=${tokens}`, `--access-file=${access}`]
        : []),
    ]);
    const [only, seed] = [valueOf("--only"), valueOf("--seed")];
    const run = (phase: string, exclude: string[]) =>
      statusOf(spawn(program, [
        `--config-file=${settings}`,
        "run",
        `${server.url}/openapi.json`,
        "--checks=all",
        `--phases=${phase}`,
        `--max-examples=${valueOf("--examples") ?? "500"}`,
        "--continue-on-failure",
        "--generation-database=none",
        ...(seed === undefined ? [] : [`--seed=${seed}`]),
        ...(only === undefined ? [] : [`--include-operation-id-regex=${only}`]),
        ...exclude,
        ...(isGuarded ? [`--header=Authorization:Bearer ${token}`] : []),
      ], { stdio: ["ignore", "inherit", "inherit"], cwd: folder }));
    const statuses = [await run("fuzzing", [])];
    if (args.includes("--coverage")) {
      statuses.push(await run("coverage", [`--exclude-operation-id-regex=${LARGE}`]));
    }
    const defects = server.log.filter((line) => /"level":(50|60)|request failed/.test(line));
    for (const line of defects) console.log(line);
    const isStopped = await server.stop() === 0;
    return statuses.every((status) => status === 0) && defects.length === 0 && isStopped ? 0 : 1;
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

if (import.meta.main) process.exit(await main(process.argv.slice(2)));
