/** A server with a Redis of its own, its processor time, and load on it: what the benchmarks of whole servers share. */
import { spawn } from "node:child_process";
import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { Agent, request } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import process from "node:process";
import { freePort } from "../../test/support/free_port.ts";

/** Requests in flight at a time. */
const CONNECTIONS = 32;
/** A process that needs less than `IDLE` microseconds of processor time in this time is idle. */
const IDLE_MS = 400;
const IDLE = 20_000;
/** How often that is looked at. */
const MAX_LOOKS = 10;

/** Sends a request; gives the text of the answer. Rejects when its status is not 200. */
export type Send = (method: string, path: string, body?: unknown) => Promise<string>;

/** Processor time in microseconds. */
export interface Spent {
  server: number;
  redis: number;
}

export interface Side {
  send: Send;
  /** Processor time since the start. */
  spent(): Spent;
  stop(): void;
}

/** How to start a server, given its port, the URL of its Redis, and a folder for what it stores. */
export interface Program {
  folder: string;
  args(port: number, redisUrl: string, data: string): string[];
  /** Variables besides those of the benchmark. */
  env?: Record<string, string>;
}

/** Processor time of a process with its threads and the processes that it has started, microseconds. */
function spentBy(pid: number): number {
  let sum = 0;
  for (const thread of readdirSync(`/proc/${pid}/task`)) {
    const folder = `/proc/${pid}/task/${thread}`;
    sum += Number(wordsOf(`${folder}/schedstat`)[0] ?? 0) / 1000;
    for (const child of wordsOf(`${folder}/children`)) sum += spentBy(Number(child));
  }
  return sum;
}

/** Words of a file of a thread; none when the thread has just ended. */
function wordsOf(file: string): string[] {
  try {
    return readFileSync(file, "utf8").split(" ").filter((word) => word !== "");
  } catch {
    return [];
  }
}

/** Starts a server with an empty Redis (`appendfsync everysec`); resolves when it is ready. */
export async function startSide({ folder, args, env = {} }: Program): Promise<Side> {
  const data = mkdtempSync(join(tmpdir(), "sluice-bench-"));
  const [redisPort, port] = [await freePort(), await freePort()];
  const silent = { stdio: ["ignore", "ignore", "inherit"] as ["ignore", "ignore", "inherit"] };
  const redisFlags = `--port ${redisPort} --dir ${data} --appendonly yes --appendfsync everysec`;
  const redis = spawn("redis-server", [...redisFlags.split(" "), "--save", ""], silent);
  const url = `redis://127.0.0.1:${redisPort}`;
  const server = spawn(process.execPath, args(port, url, data), {
    ...silent,
    cwd: folder,
    env: { ...process.env, ...env },
  });
  const agent = new Agent({ keepAlive: true, maxSockets: CONNECTIONS });
  const send: Send = (method, path, body) =>
    new Promise((done, fail) => {
      const headers = { "content-type": "application/json" };
      const sent = request({ agent, host: "127.0.0.1", port, method, path, headers }, (answer) => {
        let text = "";
        answer.setEncoding("utf8");
        answer.on("data", (part) => text += part);
        answer.once("end", () => {
          if (answer.statusCode === 200) done(text);
          else fail(new Error(`${method} ${path}: ${answer.statusCode} ${text.slice(0, 200)}`));
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

/** Runs something so many times, at most `CONNECTIONS` at once. */
export async function each(count: number, run: (i: number) => Promise<unknown>): Promise<void> {
  let next = 0;
  const lane = async () => {
    while (next < count) await run(next++);
  };
  await Promise.all(Array.from({ length: CONNECTIONS }, lane));
}

/** Waits until the server has finished its work, or works on for another reason: a profiler alone may need that much. */
export async function idle(side: Side): Promise<void> {
  let last = side.spent().server;
  for (let look = 0; look < MAX_LOOKS; look++) {
    await new Promise((done) => setTimeout(done, IDLE_MS));
    const now = side.spent().server;
    if (now - last <= IDLE) return;
    last = now;
  }
}
