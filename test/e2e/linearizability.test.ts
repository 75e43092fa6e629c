/**
 * A hundred clients race commands on one workflow, again and again. There must be an order of the commands in which
 * every answer is right, according to a sequential model that is written here and not taken from the engine.
 *
 * SLUICE_ROUNDS: workflows per test (default 8); SLUICE_SEED.
 */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import process from "node:process";
import { afterEach, describe, expect, test } from "vitest";
import type { Workflow } from "../../src/spec/manifest.ts";
import {
  gateCalls,
  type GateCommand,
  gateModel,
  type Refusal,
  refusalOf,
} from "../support/gate_model.ts";
import { type Call, checkLinearizable } from "../support/linearizability.ts";
import { startRedisServer } from "../support/redis_server.ts";
import { seededFraction } from "../support/seeded_ids.ts";
import { type ServerProcess, startServer } from "../support/server_process.ts";

const ROUNDS = Number(process.env["SLUICE_ROUNDS"] ?? 8);
const SEED = Number(process.env["SLUICE_SEED"] ?? Date.now() % 1_000_000);
const CLIENTS = 100;
/** Commands of one client on one workflow. */
const COMMANDS = 2;
/**
 * Every second round has so few that the search always ends with a verdict. Of a hundred it may give up: that proves
 * nothing, and is allowed in half of those rounds.
 */
const FEW_CLIENTS = 30;
/** Fewer if a replica dies: a call without an answer may have been applied or not, and the search tries both. */
const CLIENTS_AT_A_KILL = 24;
const TTL_MS = 1_000;
const API = "/api/v1/workflows/default";

const cleanUp: (() => Promise<unknown>)[] = [];

afterEach(async () => {
  for (const run of cleanUp.splice(0).reverse()) await run();
});

async function folder(): Promise<string> {
  const dir = await mkdtemp(join(tmpdir(), "sluice-race-"));
  cleanUp.push(() => rm(dir, { recursive: true, force: true, maxRetries: 5 }));
  return dir;
}

/** Commands, weighted by frequency: those that make, read and reopen come more often than those that end. */
const COMMAND_MIX: readonly GateCommand[] = [
  ...["create", "create", "create", "get", "get", "get", "suspend", "suspend"] as const,
  ...["resume", "resume", "resume-node", "resume-node", "stop", "stop-node"] as const,
  ...["terminate", "retry", "retry", "retry", "set-node-Succeeded", "set-node-Failed"] as const,
  "delete",
];

const GATE = {
  entrypoint: "wait",
  templates: [{ name: "wait", suspend: {} }],
};

function requestOf(name: string, command: GateCommand): [string, string, object?] {
  const nodeFieldSelector = `displayName=${name}`;
  const [verb = "", scope, phase] = command.split("-");
  switch (command) {
    case "create":
      return ["POST", API, { workflow: { metadata: { name }, spec: GATE } }];
    case "get":
      return ["GET", `${API}/${name}`];
    case "delete":
      return ["DELETE", `${API}/${name}`];
    default:
      return ["PUT", `${API}/${name}/${verb}`, {
        ...(scope === "node" ? { nodeFieldSelector } : {}),
        ...(phase === undefined ? {} : { phase }),
      }];
  }
}

/** The answer to a command; undefined if it may or may not have been applied. */
async function send(
  url: string,
  name: string,
  command: GateCommand,
): Promise<Workflow | Refusal | "done" | undefined> {
  const [method, path, body] = requestOf(name, command);
  let response: Response;
  let answer: unknown;
  try {
    response = await fetch(url + path, {
      method,
      headers: { "content-type": "application/json" },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    answer = await response.json();
  } catch {
    return undefined;
  }
  if (response.ok) return command === "delete" ? "done" : answer as Workflow;
  if (response.status === 503 || response.status === 504) return undefined;
  return refusalOf((answer as { message: string }).message);
}

/** Something that happens while commands are under way, however fast they are. */
interface Disturbance {
  /** So many commands were sent. */
  after: number;
  happen(): Promise<unknown>;
}

/** One workflow: all clients at once, through any replica. */
async function race(
  name: string,
  urls: () => readonly string[],
  random: () => number,
  { clients = CLIENTS, disturbance }: { clients?: number; disturbance?: Disturbance } = {},
): Promise<Call[]> {
  const calls: Call[] = [];
  let [order, sent] = [0, 0];
  let happening: Promise<unknown> | undefined;
  const client = async () => {
    for (let turn = 0; turn < COMMANDS; turn++) {
      await new Promise((resolve) => setTimeout(resolve, random() * 30));
      const command = COMMAND_MIX[Math.floor(random() * COMMAND_MIX.length)] ?? "get";
      const url = urls()[Math.floor(random() * urls().length)] ?? "";
      const calledAt = order++;
      const sending = send(url, name, command);
      if (++sent === disturbance?.after) happening = disturbance.happen();
      const answer = await sending;
      const heardAt = answer === undefined ? Infinity : order++;
      calls.push(...gateCalls(command, answer, calledAt, heardAt));
    }
  };
  await Promise.all(Array.from({ length: clients }, client));
  await happening;
  return calls;
}

/** Fails with the history that does not fit. Gives false when the search gave up, where it may. */
function expectLinearizable(calls: readonly Call[], mayGiveUp = false): boolean {
  const verdict = checkLinearizable(calls, gateModel);
  if (verdict.isLinearizable) return true;
  if (mayGiveUp && !verdict.isProved) return false;
  const { best, stuck, isProved } = verdict;
  throw new Error(
    `seed ${SEED}: ${
      isProved ? "no order fits" : "no order was found"
    }; of ${calls.length} calls ${best.length} fit in an order, then none of these:\n` +
      `${stuck.map((call) => JSON.stringify(call)).join("\n")}\nafter\n` +
      `${best.slice(-15).map((call) => JSON.stringify(call)).join("\n")}`,
  );
}

function clientsIn(round: number): number {
  return round % 2 === 0 ? CLIENTS : FEW_CLIENTS;
}

/** Rounds in the order of `clientsIn`. */
function expectMostDecided(rounds: readonly Call[][]): void {
  const verdicts = rounds.map((calls, round) =>
    expectLinearizable(calls, clientsIn(round) === CLIENTS)
  );
  const undecided = verdicts.filter((isDecided) => !isDecided).length;
  if (undecided > 0) process.stdout.write(`the search gave up in ${undecided} rounds\n`);
  expect(undecided).toBeLessThanOrEqual(Math.ceil(rounds.length / 4));
}

/** A history counts only if commands were applied and refused. At most `maxOpen` were left open. */
function expectEventful(calls: readonly Call[], maxOpen: number): void {
  const count = (fits: (call: Call) => boolean) => calls.filter(fits).length;
  const done = count(({ input, output }) => input !== "get" && output === "done");
  const refused = count(({ input, output }) =>
    input !== "get" && output !== undefined && output !== "done"
  );
  const open = count(({ output }) => output === undefined);
  process.stdout.write(`${calls.length} calls: ${done} done, ${refused} refused, ${open} open\n`);
  expect(done).toBeGreaterThan(calls.length / 10);
  expect(refused).toBeGreaterThan(calls.length / 20);
  expect(open).toBeLessThanOrEqual(maxOpen);
}

describe("the checker", () => {
  let at = 0;
  const call = (input: string, output: string | undefined): Call => ({
    input,
    output,
    calledAt: at++,
    heardAt: output === undefined ? Infinity : at++,
  });
  const shows = (phase: string, step: string) =>
    `phase=${phase} step=${step} suspend=false shutdown=`;
  const isLinearizable = (...calls: Call[]) => checkLinearizable(calls, gateModel).isLinearizable;

  test("takes what is right", () => {
    expect(isLinearizable(
      call("create", "done"),
      call("get", shows("Running", "Running")),
      call("resume-node", "done"),
      call("resume-node", "no step"),
      call("get", shows("Succeeded", "Succeeded")),
      call("retry", "not failed"),
      call("delete", "done"),
      call("get", "absent"),
    )).toBe(true);
  });

  test("notices a step that is resumed twice", () => {
    expect(isLinearizable(
      call("create", "done"),
      call("get", shows("Running", "Running")),
      call("resume-node", "done"),
      call("resume-node", "done"),
    )).toBe(false);
  });

  test("notices an answer from the past", () => {
    expect(isLinearizable(
      call("create", "done"),
      call("get", shows("Succeeded", "Succeeded")),
    )).toBe(false);
    expect(isLinearizable(
      call("create", "done"),
      call("get", shows("Running", "Running")),
      call("stop-node", "done"),
      call("get", shows("Failed", "Failed")),
      call("get", shows("Running", "Running")),
    )).toBe(false);
  });

  test("notices a command that is lost", () => {
    expect(isLinearizable(call("create", "done"), call("get", "absent"))).toBe(false);
  });

  test("lets an open call happen late or never, and not twice", () => {
    const [create, deletion] = [call("create", "done"), call("delete", undefined)];
    const [there, gone] = [call("create", "exists"), call("get", "absent")];
    expect(isLinearizable(create, deletion, there)).toBe(true);
    expect(isLinearizable(create, deletion, there, gone)).toBe(true);
    const [again, goneAgain] = [call("create", "done"), call("get", "absent")];
    expect(isLinearizable(create, deletion, there, gone, again, goneAgain)).toBe(false);
  });
});

describe("commands that race on one workflow", () => {
  test("three replicas on a Redis, one of which is killed now and then", async () => {
    const random = seededFraction(SEED);
    const redis = await startRedisServer(["--appendonly", "yes", "--appendfsync", "always"]);
    cleanUp.push(() => redis.stop());
    const dir = await folder();
    const flags = [`--store=${redis.url}`, `--work-dir=${dir}`, `--lease-ttl=${TTL_MS}ms`];
    const servers: ServerProcess[] = await Promise.all([0, 1, 2].map(() => startServer(flags)));
    cleanUp.push(() => Promise.all(servers.map((server) => server.kill())));
    let killed: ServerProcess | undefined;
    const urls = () => servers.filter((server) => server !== killed).map(({ url }) => url);
    const quiet: Call[][] = [];
    for (let round = 0; round < ROUNDS; round++) {
      const clients = clientsIn(round);
      quiet.push(await race(`gate-${round}`, urls, random, { clients }));
    }
    const disturbed: Call[][] = [];
    const isOpen = ({ output }: Call) => output === undefined;
    const wanted = Math.max(1, ROUNDS / 4);
    // Until a replica died while it had a command.
    for (let round = 0; round < wanted || !disturbed.flat().some(isOpen); round++) {
      const victim = Math.floor(random() * servers.length);
      const disturbance: Disturbance = {
        after: Math.ceil(CLIENTS_AT_A_KILL * COMMANDS * (0.1 + 0.6 * random())),
        async happen() {
          killed = servers[victim];
          await killed?.kill();
        },
      };
      const clients = CLIENTS_AT_A_KILL;
      disturbed.push(await race(`killed-${round}`, urls, random, { clients, disturbance }));
      servers[victim] = await startServer(flags);
    }
    expectMostDecided(quiet);
    for (const calls of disturbed) expectLinearizable(calls);
    expectEventful(quiet.flat(), 0);
    expectEventful(disturbed.flat(), Infinity);
  }, 300_000);

  test("one server on SQLite", async () => {
    const random = seededFraction(SEED + 1);
    const dir = await folder();
    const server = await startServer([`--store=sqlite:${dir}/store`, `--work-dir=${dir}`]);
    cleanUp.push(() => server.kill());
    const quiet: Call[][] = [];
    for (let round = 0; round < ROUNDS; round++) {
      const clients = clientsIn(round);
      quiet.push(await race(`gate-${round}`, () => [server.url], random, { clients }));
    }
    expectMostDecided(quiet);
    expectEventful(quiet.flat(), 0);
    // The same with a few clients, and an answer that contradicts an earlier one: the check must notice it.
    const calls = await race("few", () => [server.url], random, { clients: 6 });
    expectLinearizable(calls);
    const end = calls.length * 10;
    const contradiction: Call[] = [
      { input: "get", output: "absent", calledAt: end, heardAt: end + 1 },
      { input: "retry", output: "not failed", calledAt: end + 2, heardAt: end + 3 },
    ];
    expect(checkLinearizable([...calls, ...contradiction], gateModel))
      .toMatchObject({ isLinearizable: false, isProved: true });
  }, 300_000);
});
