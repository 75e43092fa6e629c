/** Real PostgreSQL and MariaDB servers for tests: on free ports, in separate folders, removed with the test. */
import { type ChildProcess, spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { chmodSync, chownSync, existsSync, mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { delimiter, join } from "node:path";
import process from "node:process";
import { type Database, openDatabase } from "../../src/cli/migrate/sql.ts";
import { installPackages } from "./debian_package.ts";
import { freePort } from "./free_port.ts";

const START_MS = 60_000;

/** A kind of database, and how it is started. */
interface Kind {
  /** Debian's package. */
  package: string;
  server: string;
  /** The account that it runs as instead of root; absent: it may be root. */
  user?: string;
  /** Where else its programs may be. */
  folders(): string[];
  /** Makes the empty database in a folder. */
  initialise(folder: string): string[];
  start(folder: string, port: number): string[];
  url(port: number): string;
}

const POSTGRES: Kind = {
  package: "postgresql",
  server: "postgres",
  user: "postgres",
  folders: () =>
    existsSync("/usr/lib/postgresql")
      ? readdirSync("/usr/lib/postgresql").sort().reverse()
        .map((version) => `/usr/lib/postgresql/${version}/bin`)
      : [],
  initialise: (folder) =>
    ["initdb", "-D", folder, "-A", "trust", "-U", "argo", "-E", "UTF8"].concat("--no-sync"),
  start: (folder, port) =>
    ["postgres", "-D", folder, "-p", String(port), "-F"].concat(
      ...[["listen_addresses=127.0.0.1"], [`unix_socket_directories=${folder}`]]
        .map((setting) => ["-c", ...setting]),
    ),
  url: (port) => `postgres://argo@127.0.0.1:${port}/postgres`,
};

const AS_ROOT = process.getuid?.() === 0 ? ["--user=root"] : [];

const MARIADB: Kind = {
  package: "mariadb-server-core",
  server: "mariadbd",
  folders: () => ["/usr/sbin"],
  initialise: (folder) => [
    "mariadb-install-db",
    "--no-defaults",
    `--datadir=${folder}`,
    ...AS_ROOT,
    "--auth-root-authentication-method=normal",
    "--skip-test-db",
  ],
  start: (folder, port) => [
    "mariadbd",
    "--no-defaults",
    `--datadir=${folder}`,
    ...AS_ROOT,
    `--port=${port}`,
    "--bind-address=127.0.0.1",
    `--socket=${folder}/socket`,
    `--pid-file=${folder}/pid`,
  ],
  url: (port) => `mysql://root@127.0.0.1:${port}/test`,
};

const DATABASES = { postgres: POSTGRES, mariadb: MARIADB } as const;
export type DatabaseName = keyof typeof DATABASES;

export interface DatabaseServer {
  url: string;
  /** A connection that may write. */
  database: Database;
  /** Kills the server; `restart` starts it again on its data and its port. */
  crash(): Promise<void>;
  restart(): Promise<void>;
  stop(): Promise<void>;
}

/** Why a database is unavailable here; undefined if it is available. @param installs it if possible */
export function databaseMissing(name: DatabaseName, installs = true): string | undefined {
  const { package: debian, server } = DATABASES[name];
  if (isThere(name)) return undefined;
  if (installs) installPackages([debian]);
  return isThere(name)
    ? undefined
    : `${server} is not installed (Debian: apt-get install ${debian})`;
}

function isThere(name: DatabaseName): boolean {
  return spawnSync(DATABASES[name].server, ["--version"], {
    stdio: "ignore",
    env: environment(DATABASES[name]),
  }).error === undefined;
}

function environment({ folders }: Kind): NodeJS.ProcessEnv {
  return { ...process.env, PATH: [...folders(), process.env["PATH"]].join(delimiter) };
}

/** Starts an empty database. */
export async function startDatabase(name: DatabaseName): Promise<DatabaseServer> {
  const kind = DATABASES[name];
  const folder = mkdtempSync(join(tmpdir(), `sluice-${name}-`));
  const account = accountOf(kind);
  if (account !== undefined) chownSync(folder, account.uid, account.gid);
  chmodSync(folder, 0o700);
  const options = { ...account, env: environment(kind), cwd: folder };
  const [make = "", ...given] = kind.initialise(join(folder, "data"));
  const made = spawnSync(make, given, { ...options, encoding: "utf8" });
  if (made.status !== 0) throw new Error(`${make} failed: ${made.error ?? made.stderr}`);
  const port = await freePort();
  const [program = "", ...args] = kind.start(join(folder, "data"), port);
  const start = async () => {
    const server = spawn(program, args, { ...options, stdio: ["ignore", "ignore", "pipe"] });
    let told = "";
    server.stderr.on("data", (chunk) => (told = (told + chunk).slice(-4_000)));
    await isReady(kind.url(port).replace(/\/test$/, "/mysql"), server, () => told);
    return server;
  };
  const crash = async () => {
    if (server.exitCode !== null || server.signalCode !== null) return;
    const gone = once(server, "exit");
    process.kill(server.pid ?? 0, "SIGKILL");
    await gone;
  };
  let server = await start();
  const url = kind.url(port);
  if (name === "mariadb") await createTest(url);
  const database = await openDatabase(url, true);
  return {
    url,
    database,
    crash,
    async restart() {
      server = await start();
    },
    async stop() {
      await database.close();
      await crash();
      rmSync(folder, { recursive: true, force: true, maxRetries: 5 });
    },
  };
}

async function createTest(url: string): Promise<void> {
  const database = await openDatabase(url.replace(/\/test$/, "/mysql"), true);
  await database.query("create database test character set utf8mb4", []);
  await database.close();
}

/** The account of a database, if this process may become it. */
function accountOf({ user }: Kind): { uid: number; gid: number } | undefined {
  if (process.getuid?.() !== 0 || user === undefined) return undefined;
  const idOf = (flag: string) => Number(spawnSync("id", [flag, user], { encoding: "utf8" }).stdout);
  return { uid: idOf("-u"), gid: idOf("-g") };
}

async function isReady(url: string, server: ChildProcess, told: () => string): Promise<void> {
  let isGone = false;
  server.once("exit", () => (isGone = true));
  for (const endsAt = performance.now() + START_MS; performance.now() < endsAt && !isGone;) {
    const database = await openDatabase(url);
    try {
      await database.query("select 1 as one", []);
      return;
    } catch {
      await new Promise((done) => setTimeout(done, 100));
    } finally {
      await database.close();
    }
  }
  throw new Error(`The database does not start: ${told()}`);
}
