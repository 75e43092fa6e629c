/** Real servers on a real store that chaos scenarios start, kill, freeze and start again. */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type RedisServer, startRedisServer } from "../support/redis_server.ts";
import { type ServerProcess, type ServerVariant, startServer } from "../support/server_process.ts";
import type { ChaosRun } from "./scenario.ts";

export const ALWAYS = ["--appendonly", "yes", "--appendfsync", "always"];
export const EVERYSEC = ["--appendonly", "yes", "--appendfsync", "everysec"];

/** Wide queues: a refusal for lack of space proves nothing about faults. */
export const WIDE_QUEUES = [
  "--event-operation-queue-size=20000",
  "--delivery-count=100000",
];

/** A Redis server that is removed at the end of the run. */
export async function arenaRedis(run: ChaosRun, args: string[]): Promise<RedisServer> {
  const redis = await startRedisServer(args);
  run.onEnd(() => redis.stop());
  return redis;
}

/** A folder that is removed at the end of the run. */
export async function arenaFolder(run: ChaosRun): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), "sluice-chaos-"));
  run.onEnd(() => rm(folder, { recursive: true, force: true, maxRetries: 5 }));
  return folder;
}

/** Replicas of one service on one machine. */
export class Arena {
  readonly #run: ChaosRun;
  readonly #flags: string[];
  readonly #servers: ServerProcess[] = [];
  /** Indexes of servers that can't answer now. */
  readonly #down = new Set<number>();
  #hasEnded = false;

  constructor(run: ChaosRun, flags: string[]) {
    this.#run = run;
    this.#flags = [...WIDE_QUEUES, "--log-level=info", ...flags];
  }

  /** Starts replicas on a store. They share one folder, as on one machine. */
  static async start(
    run: ChaosRun,
    store: string,
    replicas: number,
    flags: string[] = [],
    variant?: ServerVariant,
  ): Promise<Arena> {
    const arena = new Arena(run, [
      `--store=${store}`,
      `--work-dir=${await arenaFolder(run)}`,
      ...flags,
    ]);
    run.onEnd(() => arena.end());
    await Promise.all(
      Array.from({ length: replicas }, (_, index) => arena.restart(index, variant)),
    );
    return arena;
  }

  /** The flag that names the folder of a server's tasks. */
  get workDir(): string {
    return this.#flags.find((flag) => flag.startsWith("--work-dir=")) ?? "";
  }

  get size(): number {
    return this.#servers.length;
  }

  server(index: number): ServerProcess {
    const server = this.#servers[index];
    if (server === undefined) throw new Error(`There is no server ${index}`);
    return server;
  }

  /** Addresses of all servers, including those that are down. */
  get urls(): string[] {
    return this.#servers.map(({ url }) => url);
  }

  /** A random address among the servers that can answer, or among all if none can. */
  anyUrl(): string {
    const up = this.#servers.filter((_, index) => !this.#down.has(index));
    const from = up.length > 0 ? up : this.#servers;
    return from[Math.floor(this.#run.random() * from.length)]?.url ?? "";
  }

  /** A random address among all, as a load balancer would choose that does not know of the fault yet. */
  blindUrl(): string {
    return this.#servers[Math.floor(this.#run.random() * this.#servers.length)]?.url ?? "";
  }

  /** Starts a server on its previous port. */
  async restart(index: number, variant?: ServerVariant, more: string[] = []): Promise<void> {
    const before = this.#servers[index];
    const port = before === undefined ? [] : [`--port=${before.port}`];
    const server = await startServer([...this.#flags, ...more, ...port], variant);
    this.#servers[index] = server;
    this.#down.delete(index);
    if (this.#hasEnded) await server.kill();
  }

  async kill(index: number): Promise<void> {
    this.#down.add(index);
    await this.server(index).kill();
  }

  /** Asks a server to stop; resolves with its exit status. */
  stop(index: number): Promise<number | null> {
    this.#down.add(index);
    return this.server(index).stop();
  }

  freeze(index: number): void {
    this.#down.add(index);
    this.server(index).signal("SIGSTOP");
  }

  thaw(index: number): void {
    this.server(index).signal("SIGCONT");
    this.#down.delete(index);
  }

  /** Kills all of them, also those that are only starting. */
  async end(): Promise<void> {
    this.#hasEnded = true;
    await Promise.all(this.#servers.map((server) => server.kill()));
  }
}
