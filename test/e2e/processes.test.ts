/**
 * Several processes behind one port: `--processes`. Real processes on a real Redis: they share the work, end together,
 * replace each other, and outlive nobody.
 */
import { spawnSync } from "node:child_process";
import { createServer } from "node:net";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import process from "node:process";
import { afterEach, expect, test } from "vitest";
import { call, callOnce } from "../support/event_ledger.ts";
import { freePort } from "../support/free_port.ts";
import { startRedisServer } from "../support/redis_server.ts";
import { isAlive, ProcessGroup } from "../support/server_processes.ts";
import { nodeStartFlags, startFlags } from "../support/start_flags.ts";
import { until } from "../support/until.ts";

const WORKFLOWS = "/api/v1/workflows/default";
const MAIN = fileURLToPath(new URL("../../src/main.ts", import.meta.url));
/** Requests at a time: as many connections. */
const CLIENTS = 32;
/** Least share of the work of one of two processes; chance decides which connections and shards it gets. */
const FAIR_SHARE = 0.2;

const cleanUp: (() => Promise<unknown>)[] = [];

afterEach(async () => {
  for (const run of cleanUp.splice(0).reverse()) await run();
});

async function startGroup(count = 2, flags: string[] = []): Promise<ProcessGroup> {
  const redis = await startRedisServer();
  cleanUp.push(() => redis.stop());
  const group = await ProcessGroup.start(count, [
    `--store=${redis.url}`,
    "--durability=everysec",
    ...flags,
  ]);
  cleanUp.push(() => group.end());
  return group;
}

const waiting = (name: string) => ({
  workflow: {
    metadata: { name },
    spec: { entrypoint: "main", templates: [{ name: "main", suspend: {} }] },
  },
});

/** Calls once for each number, several at a time; gives the numbers whose calls were answered with 200. */
async function callEach(
  count: number,
  run: (number: number) => Promise<{ status: number }>,
): Promise<number[]> {
  const numbers = Array.from({ length: count }, (_, number) => number).values();
  const done: number[] = [];
  await Promise.all(Array.from({ length: CLIENTS }, async () => {
    for (const number of numbers) {
      const status = await run(number).then((answer) => answer.status, () => 0);
      if (status === 200) done.push(number);
    }
  }));
  return done;
}

async function phaseOf(url: string, name: string): Promise<unknown> {
  const { body } = await call(url, "GET", `${WORKFLOWS}/${name}`);
  return (body["status"] as { phase?: string } | undefined)?.phase;
}

test("the work is spread over all processes, and each is named", async () => {
  const { server, ...rest } = await startGroup().then((group) => ({
    server: group.server,
    figures: (metric: string) => group.figures(metric),
    pids: group.pids(),
  }));
  const made = await callEach(
    400,
    (number) => call(server.url, "POST", WORKFLOWS, waiting(`w-${number}`)),
  );
  expect(made).toHaveLength(400);
  const resumed = await callEach(
    400,
    (number) => call(server.url, "PUT", `${WORKFLOWS}/w-${number}/resume`, {}),
  );
  expect(resumed).toHaveLength(400);

  expect(await rest.figures("sluice_process_up")).toEqual([1, 1]);
  expect(await rest.figures("sluice_process_starts_total")).toEqual([1, 1]);
  const shards = await rest.figures("sluice_shards_owned");
  expect((shards[0] ?? 0) + (shards[1] ?? 0)).toBe(64);
  for (const metric of ["sluice_http_requests_total", "sluice_batch_commands_sum"]) {
    const [first = 0, second = 0] = await rest.figures(metric);
    expect([metric, Math.min(first, second) / (first + second) > FAIR_SHARE])
      .toEqual([metric, true]);
  }
  const seen = new Set<unknown>();
  await until(async () => {
    const { body } = await callOnce(server.url, "GET", "/readyz");
    seen.add(body["process"]);
    return seen.size === 2;
  }, { otherwise: "one process never answers" });
  expect(new Set(rest.pids).size).toBe(2);
});

test("SIGTERM to the parent ends all processes in order", async () => {
  const group = await startGroup();
  const { server } = group;
  const pids = group.pids();
  const made = await callEach(
    100,
    (number) => call(server.url, "POST", WORKFLOWS, waiting(`w-${number}`)),
  );
  expect(made).toHaveLength(100);
  expect(await server.stop()).toBe(0);
  expect(pids.filter(isAlive)).toEqual([]);
  const stopped = server.log.filter((line) => line.includes('"msg":"stopped"'));
  expect(stopped.map((line) => JSON.parse(line).process).sort()).toEqual([1, 2]);
});

test("a process that is killed is replaced, nothing is lost, and nobody waits until its leases run out", async () => {
  const group = await startGroup(2, ["--lease-ttl=10m"]);
  const { url } = group.server;
  const posts = callEach(
    600,
    (number) => call(url, "POST", WORKFLOWS, waiting(`w-${number}`)),
  );
  await until(async () => await phaseOf(url, "w-50") === "Running", { otherwise: "no load" });
  await group.killOne(2);
  const made = await posts;
  expect(made.length).toBeGreaterThan(100);
  expect(await group.figures("sluice_process_starts_total")).toEqual([1, 2]);

  await Promise.all(made.map((number) =>
    until(async () => {
      const { status } = await call(url, "PUT", `${WORKFLOWS}/w-${number}/resume`, {});
      return status === 200 || await phaseOf(url, `w-${number}`) === "Succeeded";
    }, { otherwise: `w-${number} cannot be resumed` })
  ));
  const phases = await Promise.all(made.map((number) => phaseOf(url, `w-${number}`)));
  expect(phases.filter((phase) => phase !== "Succeeded")).toEqual([]);
});

test("a process that stands still is replaced", async () => {
  const group = await startGroup();
  const [still = 0] = group.pids();
  process.kill(still, "SIGSTOP");
  await until(() => !isAlive(still), {
    otherwise: "it goes on standing still",
    patienceMs: 60_000,
  });
  await until(async () => {
    const up = await group.figures("sluice_process_up").catch(() => []);
    return up.length === 2 && up.every((one) => one === 1);
  }, { otherwise: "it is not replaced", patienceMs: 60_000 });
  expect(await group.figures("sluice_process_starts_total")).toEqual([2, 1]);
});

test("processes do not outlive their parent, even when it is killed", async () => {
  const group = await startGroup();
  const pids = group.pids();
  expect(pids.filter(isAlive)).toHaveLength(2);
  await group.server.kill();
  await until(() => pids.every((pid) => !isAlive(pid)), {
    otherwise: "a process outlives its parent",
    patienceMs: 30_000,
  });
});

interface Ended {
  status: number | null;
  stderr: string;
  stdout: string;
}

/** Runs a server that is expected to end by itself. */
function endOf(...flags: string[]): Ended {
  return endIn({}, flags);
}

/** The same with variables of the environment. */
function endIn(env: Record<string, string>, flags: string[]): Ended {
  const runtime = "Deno" in globalThis ? startFlags() : nodeStartFlags();
  return spawnSync(process.execPath, [...runtime, MAIN, ...flags], {
    encoding: "utf8",
    timeout: 60_000,
    env: { ...process.env, ...env },
  });
}

test("wrong flags are told once, by the parent", () => {
  const { status, stderr } = endOf("--processes=2", "--store=redis://127.0.0.1:1", "--nope");
  expect(stderr).toBe('sluice: Unknown flag "--nope"; --help lists all\n');
  expect(status).toBe(2);
});

test("SQLite takes one process only, and says what to do", () => {
  const { status, stderr } = endOf("--processes=2");
  expect(stderr).toBe(
    "sluice: --processes 2 needs a store that processes share, and --store sqlite:.sluice belongs to one; " +
      "say --store redis://…, or --processes 1\n",
  );
  expect(status).toBe(2);
});

test("a port that is taken is told, and nothing is started", async () => {
  const other = createServer().listen(0, "127.0.0.1");
  cleanUp.push(() => new Promise((resolve) => other.close(resolve)));
  await once(other, "listening");
  const { port } = other.address() as { port: number };
  const { status, stderr, stdout } = endOf(
    "--processes=2",
    "--store=redis://127.0.0.1:1",
    `--port=${port}`,
  );
  expect(stderr).toMatch(/^sluice: cannot start 2 processes: .*EADDRINUSE|[Aa]ddress .*in use/);
  expect(stdout).not.toContain("process started");
  expect(status).toBe(1);
});

test.each([
  ["/nowhere", "ENOENT"],
  [`/nowhere/${"long-".repeat(20)}`, "too long a path"],
])("a folder for sockets that can't be had is told: %#", async (folder, reason) => {
  const flags = ["--processes=2", "--store=redis://127.0.0.1:1", `--port=${await freePort()}`];
  const { status, stderr, stdout } = endIn({ TMPDIR: folder }, flags);
  expect(stderr).toContain("sluice: cannot start 2 processes: ");
  expect(stderr).toContain(reason);
  expect(stderr).toContain("let TMPDIR name a");
  expect(stdout).not.toContain("process started");
  expect(status).toBe(1);
});

test("when processes end at once, the parent ends with their status", async () => {
  const redis = await startRedisServer();
  cleanUp.push(() => redis.stop());
  const { status, stdout } = endOf(
    "--processes=2",
    `--store=${redis.url}`,
    `--port=${await freePort()}`,
    "--auth-mode=client",
    "--token-file=/nowhere/tokens.yaml",
    "--access-file=/nowhere/access.yaml",
  );
  expect(stdout).toContain("/nowhere/");
  expect(stdout).toContain("giving up");
  // That of a wrong setting.
  expect(status).toBe(2);
});
