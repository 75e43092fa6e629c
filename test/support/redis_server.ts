/** Real Redis servers for tests: on free ports, in separate folders, removed with the test. */
import { type ChildProcess, spawn } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { once } from "node:events";
import { setTimeout } from "node:timers/promises";
import process from "node:process";
import { freePort } from "./free_port.ts";

export interface RedisServer {
  url: string;
  port: number;
  /** Its data. */
  folder: string;
  /** Process id, for signals. */
  pid(): number;
  /** Ends the process with the given signal and waits until it is gone. */
  kill(signal: "SIGTERM" | "SIGKILL"): Promise<void>;
  /** Starts it again on the same port and data. */
  start(more?: string[]): Promise<void>;
  /** Ends it and removes its data. */
  stop(): Promise<void>;
}

/**
 * Starts a server.
 * @param args added to its command line, for example `--appendonly yes`
 * @param first the beginning of its command line: a file of settings
 */
export async function startRedisServer(
  args: string[] = [],
  first: string[] = [],
): Promise<RedisServer> {
  let port = await freePort();
  const folder = mkdtempSync(join(tmpdir(), "sluice-redis-"));
  let server: ChildProcess;
  let isGone = true;

  async function start(more: string[] = []): Promise<void> {
    server = spawn("redis-server", [
      ...first,
      ...["--port", String(port), "--dir", folder, "--save", "", "--bind", "127.0.0.1"],
      ...args,
      ...more,
    ], { stdio: ["ignore", "pipe", "inherit"] });
    isGone = false;
    server.once("exit", () => isGone = true);
    let output = "";
    await new Promise<void>((resolve, reject) => {
      server.once("error", reject);
      server.once("exit", () => reject(new Error(`redis-server ended: ${output}`)));
      server.stdout?.on("data", (chunk) => {
        output = (output + chunk).slice(-4_000);
        if (/Ready to accept connections|Running mode=sentinel|\+monitor master/.test(output)) {
          resolve();
        }
      });
    });
  }

  async function kill(signal: "SIGTERM" | "SIGKILL"): Promise<void> {
    if (server.pid === undefined || isGone) return;
    const gone = once(server, "exit");
    // Not server.kill: on Deno it works only once.
    process.kill(server.pid, "SIGCONT");
    process.kill(server.pid, signal);
    await gone;
  }

  // Whoever runs beside this test may have got the port meanwhile.
  for (let tries = 1;; tries++) {
    try {
      await start();
      break;
    } catch (error) {
      if (tries === 5 || !/Address already in use/.test(String(error))) throw error;
      port = await freePort();
    }
  }
  return {
    url: `redis://127.0.0.1:${port}`,
    port,
    folder,
    pid: () => server.pid ?? 0,
    kill,
    start,
    async stop() {
      await kill("SIGKILL");
      // A child of it that rewrites its log outlives it for a moment, and makes files. Deno knows no `maxRetries`.
      for (let tries = 1;; tries++) {
        try {
          return rmSync(folder, { recursive: true, force: true });
        } catch (error) {
          if (tries === 50) throw error;
          await setTimeout(100);
        }
      }
    },
  };
}
