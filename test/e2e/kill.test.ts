/**
 * The server is killed again and again while workflows of the async-job kind run. Verdict from a ledger alone: every
 * accepted workflow completes, no finished node ever changes, no step is resumed twice.
 *
 * SLUICE_KILLS: kills per store (default 5; the full run has 25), SLUICE_KILL_WORKFLOWS: workflows (default 200).
 */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import process from "node:process";
import { afterEach, expect, test } from "vitest";
import { startRedisServer } from "../support/redis_server.ts";
import { type ServerProcess, startServer } from "../support/server_process.ts";
import { seededFraction } from "../support/seeded_ids.ts";

const KILLS = Number(process.env["SLUICE_KILLS"] ?? 5);
const WORKFLOWS = Number(process.env["SLUICE_KILL_WORKFLOWS"] ?? 200);
const SEED = Number(process.env["SLUICE_SEED"] ?? Date.now() % 1_000_000);
const CLIENTS = 20;
const API = "/api/v1/workflows/default";

const cleanUp: (() => Promise<unknown>)[] = [];

afterEach(async () => {
  for (const run of cleanUp.splice(0).reverse()) await run();
});

function manifest(name: string): object {
  const shell = (text: string) => ({ image: "alpine", command: ["sh", "-c"], args: [text] });
  return {
    metadata: { name },
    spec: {
      entrypoint: "main",
      templates: [
        {
          name: "main",
          steps: [
            [{ name: "trigger", template: "trigger" }],
            [{
              name: "wait",
              template: "wait",
              arguments: {
                parameters: [{ name: "uuid", value: "{{steps.trigger.outputs.result}}" }],
              },
            }],
            [{ name: "finish", template: "finish" }],
          ],
        },
        { name: "trigger", container: shell(`echo job-of-${name}`) },
        { name: "wait", inputs: { parameters: [{ name: "uuid" }] }, suspend: {} },
        { name: "finish", container: shell("true") },
      ],
    },
  };
}

interface Node {
  displayName: string;
  type: string;
  phase: string;
  finishedAt: string | null;
}

interface Ledger {
  finished: Map<string, string>;
  /** Answers 200 to a resume, by workflow. */
  resumed: Map<string, number>;
  violations: string[];
}

/** Sends a request until the server answers it, whatever the answer. */
async function ask(base: () => string, path: string, init?: RequestInit) {
  for (;;) {
    try {
      const response = await fetch(base() + path, {
        ...init,
        headers: { "content-type": "application/json" },
        signal: AbortSignal.timeout(20_000),
      });
      const body = await response.json() as Record<string, unknown>;
      if (response.status !== 503 && response.status !== 504) {
        return { status: response.status, body };
      }
    } catch {
      // No answer: the server was killed; nothing is known about the request.
    }
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}

async function runJob(base: () => string, name: string, ledger: Ledger): Promise<void> {
  const created = await ask(base, API, {
    method: "POST",
    body: JSON.stringify({ namespace: "default", workflow: manifest(name) }),
  });
  if (created.status !== 200 && created.status !== 409) {
    ledger.violations.push(`${name}: create ${created.status} ${JSON.stringify(created.body)}`);
    return;
  }
  for (;;) {
    const { status, body } = await ask(base, `${API}/${name}`);
    if (status !== 200) {
      ledger.violations.push(`${name}: accepted and gone (${status})`);
      return;
    }
    const { phase, nodes = {} } = body["status"] as { phase: string; nodes?: Record<string, Node> };
    for (const [id, node] of Object.entries(nodes)) {
      if (!node.finishedAt) continue;
      const text = `${node.phase} ${node.finishedAt}`;
      const before = ledger.finished.get(id) ?? text;
      if (before !== text) ledger.violations.push(`${name}: ${id} was ${before}, is ${text}`);
      ledger.finished.set(id, text);
    }
    if (phase === "Succeeded") {
      const names = Object.values(nodes).map((node) => node.displayName).sort();
      const wanted = ["[0]", "[1]", "[2]", "finish", name, "trigger", "wait"].sort();
      if (names.join() !== wanted.join()) ledger.violations.push(`${name}: nodes ${names}`);
      return;
    }
    if (phase === "Failed" || phase === "Error") {
      ledger.violations.push(`${name}: ${phase} ${JSON.stringify(body["status"])}`);
      return;
    }
    const waits = Object.values(nodes).some((node) =>
      node.type === "Suspend" && node.phase === "Running"
    );
    if (waits) {
      const nodeFieldSelector = `inputs.parameters.uuid.value=job-of-${name}`;
      const answer = await ask(base, `${API}/${name}/resume`, {
        method: "PUT",
        body: JSON.stringify({ namespace: "default", name, nodeFieldSelector }),
      });
      if (answer.status === 200) {
        const times = (ledger.resumed.get(name) ?? 0) + 1;
        ledger.resumed.set(name, times);
        if (times > 1) ledger.violations.push(`${name}: resumed ${times} times`);
      }
    }
    await new Promise((resolve) => setTimeout(resolve, 30));
  }
}

async function killAndCheck(flags: string[]): Promise<void> {
  const random = seededFraction(SEED);
  let server: ServerProcess = await startServer([...flags, "--lease-ttl=1s", "--log-level=info"]);
  cleanUp.push(() => server.kill());
  const { port, url } = server;
  const ledger: Ledger = { finished: new Map(), resumed: new Map(), violations: [] };
  let next = 0;
  let kills = 0;
  let isDone = false;
  // Workflows are spread over the kills, so that some run at every one.
  const isAllowed = () => next < WORKFLOWS * (kills + 1) / (KILLS + 1);
  const client = async () => {
    while (next < WORKFLOWS) {
      if (isAllowed()) await runJob(() => url, `job-${next++}`, ledger);
      else await new Promise((resolve) => setTimeout(resolve, 20));
    }
  };
  const clients = Promise.all(Array.from({ length: CLIENTS }, client)).then(() => isDone = true);
  while (kills < KILLS && !isDone) {
    await new Promise((resolve) => setTimeout(resolve, 50 + random() * 900));
    await server.kill();
    kills++;
    server = await startServer([...flags, `--port=${port}`, "--lease-ttl=1s", "--log-level=info"]);
  }
  await clients;
  expect(ledger.violations, `seed ${SEED}`).toEqual([]);
  expect(ledger.resumed.size).toBeGreaterThan(WORKFLOWS / 2);
  expect(kills, "kills while workflows ran").toBe(KILLS);
}

test("SIGKILL at random moments loses and repeats nothing (sqlite)", async () => {
  const folder = await mkdtemp(join(tmpdir(), "sluice-kill-"));
  cleanUp.push(() => rm(folder, { recursive: true, force: true, maxRetries: 5 }));
  await killAndCheck([`--store=sqlite:${folder}`]);
}, 600_000);

test("SIGKILL at random moments loses and repeats nothing (redis)", async () => {
  const redis = await startRedisServer(["--appendonly", "yes", "--appendfsync", "always"]);
  cleanUp.push(() => redis.stop());
  const folder = await mkdtemp(join(tmpdir(), "sluice-kill-"));
  cleanUp.push(() => rm(folder, { recursive: true, force: true, maxRetries: 5 }));
  await killAndCheck([`--store=${redis.url}`, `--work-dir=${folder}`]);
}, 600_000);
