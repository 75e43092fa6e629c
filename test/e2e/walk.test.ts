/**
 * The README's walk with the real server, the real job server of `examples/` and the command line: trigger once, stop
 * as failed, retry only the wait, retry with the trigger, resume to the end, with a SIGKILL in the middle.
 */
import { spawn } from "node:child_process";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import process from "node:process";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, expect, test } from "vitest";
import { type ServerProcess, startServer } from "../support/server_process.ts";
import { freePort } from "../support/free_port.ts";
import { until, untilAnswered } from "../support/until.ts";

const ROOT = fileURLToPath(new URL("../..", import.meta.url));
const RUNTIME = "Deno" in globalThis ? ["run", "-A"] : [];
const cleanUp: (() => unknown)[] = [];
let folder: string;
let server: ServerProcess;
let jobs: string;

/** Runs the command line; resolves with its output and its exit status. */
function sluice(...args: string[]): Promise<{ out: string; err: string; status: number | null }> {
  const child = spawn(process.execPath, [...RUNTIME, "src/cli/main.ts", ...args], {
    cwd: ROOT,
    env: { ...process.env, SLUICE_SERVER: server.url, NO_COLOR: "1" },
  });
  let out = "";
  let err = "";
  child.stdout.on("data", (chunk) => (out += chunk));
  child.stderr.on("data", (chunk) => (err += chunk));
  return new Promise((resolve) => child.once("close", (status) => resolve({ out, err, status })));
}

async function triggered(): Promise<{ id: string }[]> {
  return await (await fetch(jobs)).json() as { id: string }[];
}

interface Node {
  displayName: string;
  type: string;
  phase: string;
  message?: string;
}

/** The nodes of a workflow once they are as wanted. */
async function nodesWhen(
  name: string,
  what: string,
  check: (nodes: Node[], phase: string) => boolean,
): Promise<Node[]> {
  let seen: { phase: string; nodes?: Record<string, Node> } = { phase: "" };
  const nodes = () => Object.values(seen.nodes ?? {});
  const isSo = async () => {
    seen = JSON.parse((await sluice("get", name, "-o", "json")).out).status;
    return check(nodes(), seen.phase);
  };
  await until(isSo, { otherwise: () => `${what} did not come true: ${JSON.stringify(seen)}` });
  return nodes();
}

const waits = (nodes: Node[]) =>
  nodes.some((node) => node.type === "Suspend" && node.phase === "Running");

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "sluice-walk-"));
  const port = await freePort();
  jobs = `http://127.0.0.1:${port}/jobs`;
  const jobServer = spawn(process.execPath, [...RUNTIME, "examples/job_server.mjs"], {
    cwd: ROOT,
    env: { ...process.env, JOB_PORT: String(port) },
    stdio: "ignore",
  });
  cleanUp.push(() => jobServer.kill("SIGKILL"));
  server = await startServer([`--store=sqlite:${folder}`]);
  await untilAnswered(jobs);
});

afterAll(async () => {
  await server?.kill();
  for (const run of cleanUp) run();
  await rm(folder, { recursive: true, force: true, maxRetries: 5 });
});

test("a job that could not be started is not waited for", async () => {
  const args = ["submit", "examples/async-job.yaml", "-p", `jobs=${jobs}/nowhere`, "--wait"];
  const { status, out } = await sluice(...args);
  expect(out).toMatch(/ Failed at /);
  expect(status).toBe(1);
});

test("the async-job walk", async () => {
  const submitted = await sluice(
    "submit",
    "examples/async-job.yaml",
    "-p",
    `jobs=${jobs}`,
    "-o",
    "name",
  );
  expect(submitted.status, submitted.err).toBe(0);
  const name = submitted.out.trim();
  await nodesWhen(name, "waiting", waits);
  const [job] = await triggered();
  const selector = `inputs.parameters.uuid.value=${job?.id}`;

  const stopped = await sluice(
    "stop",
    name,
    "--node-field-selector",
    selector,
    "--message",
    "job failed",
  );
  expect(stopped.status, stopped.err).toBe(0);
  const failed = await nodesWhen(name, "failed", (_, phase) => phase === "Failed");
  expect(failed.find((node) => node.type === "Suspend")).toMatchObject({
    phase: "Failed",
    message: "job failed",
  });
  expect((await sluice("wait", name)).status, "exit status of a failed workflow").toBe(1);

  expect((await sluice("retry", name)).status).toBe(0);
  await nodesWhen(name, "waiting again", waits);
  expect(await triggered(), "a plain retry triggers nothing").toHaveLength(1);

  await server.kill();
  server = await startServer([`--store=sqlite:${folder}`, `--port=${server.port}`]);
  expect((await sluice("stop", name, "--node-field-selector", selector)).status).toBe(0);
  await nodesWhen(name, "failed again", (_, phase) => phase === "Failed");

  const restarted = await sluice(
    "retry",
    name,
    "--restart-successful",
    "--node-field-selector",
    "templateName=trigger,phase=Succeeded",
  );
  expect(restarted.status, restarted.err).toBe(0);
  await nodesWhen(name, "waiting for the second job", waits);
  const second = (await triggered())[1];
  expect(second?.id).toBeDefined();

  const none = await sluice("resume", name, "--node-field-selector", selector);
  expect(none.status, "the first job's id waits no more").toBe(1);
  expect(none.err).toContain("no suspend nodes matching nodeFieldSelector");
  expect(
    (await sluice(
      "resume",
      name,
      "--node-field-selector",
      `inputs.parameters.uuid.value=${second?.id}`,
    )).status,
  ).toBe(0);
  expect((await sluice("wait", name)).status).toBe(0);
  expect((await sluice("logs", name)).out).toContain(`job ${second?.id} is done`);
  expect(await triggered()).toHaveLength(2);
});

test("wrong input is refused in one line, with the place", async () => {
  const missing = await sluice("submit", "examples/nope.yaml");
  expect(missing.status).toBe(1);
  expect(missing.err).toContain("examples/nope.yaml");
  expect((await sluice("get", "nope")).err).toContain('workflows.argoproj.io "nope" not found');
  expect((await sluice("list", "--nope")).status).toBe(2);
  const answer = await fetch(`${server.url}/api/v1/workflows/default`, {
    method: "POST",
    body: "{",
  });
  expect(answer.status).toBe(400);
});
