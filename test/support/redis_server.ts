/** A real redis-server of a test's own, on a free port, with its data in a folder that goes with it. */
import { type ChildProcess, spawn } from "node:child_process";
import { mkdtemp, rm } from "node:fs/promises";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";

export interface RedisServer {
  url: string;
  port: number;
  pid: number;
  /** Ends it without warning; `restart` brings it back with its data. */
  kill(): Promise<void>;
  restart(): Promise<void>;
  /** Ends it and removes its data. */
  close(): Promise<void>;
}

/** Starts redis-server. @param flags further settings, for example `--appendfsync always` */
export async function startRedis(flags: string[] = []): Promise<RedisServer> {
  const folder = await mkdtemp(join(tmpdir(), "sluice-redis-"));
  const port = await freePort();
  let child: ChildProcess;
  let ended: Promise<unknown>;
  const start = async () => {
    child = spawn(
      "redis-server",
      [
        "--port",
        String(port),
        "--bind",
        "127.0.0.1",
        "--dir",
        folder,
        "--save",
        "",
        "--appendonly",
        "yes",
        ...flags,
      ],
      { stdio: ["ignore", "pipe", "inherit"] },
    );
    ended = new Promise((resolve) => child.once("exit", resolve));
    await new Promise<void>((resolve, reject) => {
      child.once("exit", (status) => reject(new Error(`redis-server ended with status ${status}`)));
      child.stdout?.on("data", (text: unknown) => {
        if (String(text).includes("Ready to accept connections")) resolve();
      });
    });
  };
  const kill = async () => {
    child.kill("SIGKILL");
    await ended;
  };
  await start();
  return {
    url: `redis://127.0.0.1:${port}`,
    port,
    get pid() {
      return child.pid ?? 0;
    },
    kill,
    restart: start,
    async close() {
      await kill();
      await rm(folder, { recursive: true, force: true });
    },
  };
}

function freePort(): Promise<number> {
  return new Promise((resolve, reject) => {
    const server = createServer();
    server.once("error", reject);
    server.listen(0, "127.0.0.1", () => {
      const address = server.address();
      server.close(() => resolve(typeof address === "object" && address ? address.port : 0));
    });
  });
}
