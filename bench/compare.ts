// deno-lint-ignore-file no-console -- a program for the terminal
/**
 * What a submit, an event, an event that becomes a workflow, and a resume cost in two checkouts, side by side:
 * processor time of the server and of its Redis, in turns, so that a machine that gets slower slows both.
 *
 * Run: deno run -A bench/compare.ts OTHER_FOLDER [WORK…] [--rounds 5] [--batch 3000]
 * Each figure is the median of the rounds, in microseconds; the ratio is the median of the rounds' ratios. On a busy machine
 * that of the lower quartiles, "of the quiet rounds", says more: what others do only adds to a figure.
 */
import { spawn } from "node:child_process";
import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { Agent, request } from "node:http";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import process from "node:process";

/** Requests under way at a time. */
const CONNECTIONS = 32;
/** What needs less than `IDLE` microseconds of processor time in this time is idle. */
const IDLE_MS = 400;
const IDLE = 20_000;

const WAIT = { name: "wait", inputs: { parameters: [{ name: "uuid" }] }, suspend: {} };
const SPEC = {
  entrypoint: "wait",
  arguments: { parameters: [{ name: "uuid", value: "none" }] },
  templates: [WAIT],
};

type Send = (method: string, path: string, body?: unknown) => Promise<void>;

interface Side {
  folder: string;
  send: Send;
  /** Processor time so far, microseconds. */
  spent(): { server: number; redis: number };
  stop(): void;
}

interface Work {
  prepare?: (send: Send) => Promise<void>;
  /** Before each round, not counted. */
  before?: (send: Send, round: string, i: number) => Promise<void>;
  once(send: Send, round: string, i: number): Promise<void>;
}

const submit = (send: Send, round: string, i: number, namespace = "load"): Promise<void> => {
  const name = `${round}-${i}`;
  const args = { parameters: [{ name: "uuid", value: name }] };
  return send("POST", `/api/v1/workflows/${namespace}`, {
    workflow: { metadata: { name }, spec: { ...SPEC, arguments: args } },
  });
};

const WORKS: Record<string, Work> = {
  submit: { once: submit },
  event: {
    once: (send, _, i) => send("POST", "/api/v1/events/quiet/", { id: i, message: "hello" }),
  },
  binding: {
    prepare: async (send) => {
      await send("POST", "/api/v1/workflow-templates/bound", {
        template: { metadata: { name: "wait" }, spec: SPEC },
      });
      await send("POST", "/api/v1/workflow-event-bindings/bound", {
        binding: {
          metadata: { name: "load" },
          spec: {
            event: { selector: "payload.id != nil" },
            submit: {
              workflowTemplateRef: { name: "wait" },
              arguments: { parameters: [{ name: "uuid", valueFrom: { event: "payload.id" } }] },
            },
          },
        },
      });
    },
    once: (send, round, i) => send("POST", "/api/v1/events/bound/", { id: `${round}-${i}` }),
  },
  resume: {
    before: (send, round, i) => submit(send, round, i, "resumed"),
    once: (send, round, i) =>
      send("PUT", `/api/v1/workflows/resumed/${round}-${i}/resume`, {
        nodeFieldSelector: `inputs.parameters.uuid.value=${round}-${i}`,
      }),
  },
};

function freePort(): Promise<number> {
  return new Promise((done) => {
    const server = createServer().listen(0, "127.0.0.1", () => {
      const address = server.address();
      server.close(() => done(typeof address === "object" && address !== null ? address.port : 0));
    });
  });
}

/** Processor time of a process with its threads, microseconds. */
function spentBy(pid: number): number {
  const threads = readdirSync(`/proc/${pid}/task`);
  const nanoseconds = threads.map((thread) =>
    Number(readFileSync(`/proc/${pid}/task/${thread}/schedstat`, "utf8").split(" ")[0])
  );
  return nanoseconds.reduce((sum, value) => sum + value, 0) / 1000;
}

async function startSide(folder: string): Promise<Side> {
  const data = mkdtempSync(join(tmpdir(), "sluice-compare-"));
  const [redisPort, port] = [await freePort(), await freePort()];
  const silent = { stdio: ["ignore", "ignore", "inherit"] as ["ignore", "ignore", "inherit"] };
  const redisFlags = `--port ${redisPort} --dir ${data} --appendonly yes --appendfsync everysec`;
  const redis = spawn("redis-server", [...redisFlags.split(" "), "--save", ""], silent);
  const url = `redis://127.0.0.1:${redisPort}`;
  const flags = `--port ${port} --store ${url} --event-operation-queue-size 100000`;
  const server = spawn(
    process.execPath,
    ["run", "-A", "--no-check", "src/main.ts", "--log-level", "warn", ...flags.split(" ")],
    { ...silent, cwd: folder },
  );
  const agent = new Agent({ keepAlive: true, maxSockets: CONNECTIONS });
  const send: Send = (method, path, body) =>
    new Promise((done, fail) => {
      const headers = { "content-type": "application/json" };
      const sent = request({ agent, host: "127.0.0.1", port, method, path, headers }, (answer) => {
        answer.resume();
        answer.once("end", () => {
          if (answer.statusCode === 200) done();
          else fail(new Error(`${method} ${path}: ${answer.statusCode}`));
        });
      });
      sent.once("error", fail);
      sent.end(body === undefined ? undefined : JSON.stringify(body));
    });
  for (let i = 0;; i++) {
    try {
      await send("GET", "/readyz");
      break;
    } catch (error) {
      if (i === 100) throw error;
      await new Promise((done) => setTimeout(done, 200));
    }
  }
  return {
    folder,
    send,
    spent: () => ({ server: spentBy(server.pid ?? 0), redis: spentBy(redis.pid ?? 0) }),
    stop() {
      agent.destroy();
      server.kill();
      redis.kill();
      rmSync(data, { recursive: true, force: true });
    },
  };
}

async function each(count: number, run: (i: number) => Promise<void>): Promise<void> {
  let next = 0;
  const lane = async () => {
    while (next < count) await run(next++);
  };
  await Promise.all(Array.from({ length: CONNECTIONS }, lane));
}

/** Waits until the server has done what it was asked for. */
async function idle(side: Side): Promise<void> {
  for (let last = side.spent().server;;) {
    await new Promise((done) => setTimeout(done, IDLE_MS));
    const now = side.spent().server;
    if (now - last <= IDLE) return;
    last = now;
  }
}

async function cost(
  side: Side,
  { before, once }: Work,
  round: string,
  batch: number,
): Promise<{ server: number; redis: number }> {
  if (before !== undefined) await each(batch, (i) => before(side.send, round, i));
  await idle(side);
  const start = side.spent();
  await each(batch, (i) => once(side.send, round, i));
  await idle(side);
  const end = side.spent();
  return {
    server: (end.server - start.server) / batch,
    redis: (end.redis - start.redis) / batch,
  };
}

/** What so great a part of the numbers is at most: 0.5 is the median. */
function quantile(numbers: number[], part: number): number {
  const sorted = numbers.toSorted((a, b) => a - b);
  const at = (sorted.length - 1) * part;
  const [low = 0, high = low] = sorted.slice(Math.floor(at));
  return low + (high - low) * (at % 1);
}

async function main(argv: string[]): Promise<void> {
  const option = (name: string, byDefault: number) => {
    const at = argv.indexOf(name);
    return at < 0 ? byDefault : Number(argv.splice(at, 2)[1]);
  };
  const rounds = option("--rounds", 5);
  const batch = option("--batch", 3_000);
  const [other, ...names] = argv;
  if (other === undefined) throw new Error("Which folder? bench/compare.ts OTHER_FOLDER [WORK…]");
  const unknown = names.find((name) => !(name in WORKS));
  if (unknown !== undefined) {
    throw new Error(`No work is called ${unknown}: choose from ${Object.keys(WORKS).join(", ")}`);
  }
  const sides = [await startSide(resolve(other)), await startSide(process.cwd())];
  try {
    for (const [name, work] of Object.entries(WORKS)) {
      if (names.length > 0 && !names.includes(name)) continue;
      const found = sides.map(() => ({ server: [] as number[], redis: [] as number[] }));
      for (const side of sides) {
        await work.prepare?.(side.send);
        await cost(side, work, `${name}-w`, batch);
      }
      for (let round = 0; round < rounds; round++) {
        // Each goes first in turn.
        for (const at of round % 2 === 0 ? [0, 1] : [1, 0]) {
          const side = sides[at];
          const figures = found[at];
          if (side === undefined || figures === undefined) continue;
          const { server, redis } = await cost(side, work, `${name}-${round}`, batch);
          figures.server.push(server);
          figures.redis.push(redis);
        }
      }
      const [theirs, ours] = found;
      if (theirs === undefined || ours === undefined) continue;
      const sum = (f: typeof ours) => f.server.map((value, i) => value + (f.redis[i] ?? 0));
      const ratios = sum(ours).map((value, i) => value / (sum(theirs)[i] ?? 1));
      const show = (f: typeof ours) =>
        `${quantile(f.server, 0.5).toFixed(0)} + ${quantile(f.redis, 0.5).toFixed(0)} us`;
      const lowest = quantile(sum(ours), 0.25) / quantile(sum(theirs), 0.25);
      console.log(
        `${name}: ${show(theirs)} there, ${show(ours)} here, ratio ${
          quantile(ratios, 0.5).toFixed(3)
        } (${ratios.map((ratio) => ratio.toFixed(2)).join(" ")}); of the quiet rounds ${
          lowest.toFixed(3)
        }`,
      );
    }
  } finally {
    for (const side of sides) side.stop();
  }
}

await main(process.argv.slice(2));
