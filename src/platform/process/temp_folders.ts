/** Folders in the system's temporary folder, which do not outlive their server for long, however it ends. */
import { createHash, randomBytes } from "node:crypto";
import { readFileSync, rmSync } from "node:fs";
import { mkdtemp, readdir, rename, rm } from "node:fs/promises";
import { connect, createServer } from "node:net";
import { hostname, tmpdir } from "node:os";
import { join } from "node:path";
import process from "node:process";

/** Of a folder, or of the socket that tells whether its process lives. */
const NAME = /^sluice-([a-z]+)-((?:[a-f0-9]{8})?)-((?:[a-f0-9]{8})?)-([a-f0-9]{8})(?:-\w{6})?$/;
/** The kind of the sockets. */
const ALIVE = "alive";
/** Tells this process from every other. */
const START = randomBytes(4).toString("hex");

let owner: Promise<string> | undefined;

function shortHash(text: string): string {
  return createHash("sha256").update(text).digest("hex").slice(0, 8);
}

/** The start of the machine, which is the same in all its containers. "" where the system does not tell. */
function bootMark(): string {
  try {
    return shortHash(readFileSync("/proc/sys/kernel/random/boot_id", "utf8"));
  } catch {
    return "";
  }
}

/**
 * From now on, who connects to a socket learns that this process lives, from other containers too.
 * @returns what the names of its folders say about it
 */
async function showAlive(): Promise<string> {
  const name = `${shortHash(hostname())}-${bootMark()}-${START}`;
  const path = join(tmpdir(), `sluice-${ALIVE}-${name}`);
  const server = createServer((socket) => socket.destroy());
  try {
    await new Promise<void>((resolve, reject) => {
      server.once("error", reject);
      server.listen(`${path}.new`, resolve);
    });
    // Nobody must find a socket at which nobody listens yet.
    await rename(`${path}.new`, path);
  } catch {
    server.close();
    // Without a socket nobody can tell: so nobody removes them.
    return `--${START}`;
  }
  server.on("error", () => {});
  server.unref();
  process.once("exit", () => rmSync(path, { force: true }));
  return name;
}

/** Makes a folder of this process. @param kind what it is for: small letters */
export async function makeTempFolder(kind: string): Promise<string> {
  owner ??= showAlive();
  return await mkdtemp(join(tmpdir(), `sluice-${kind}-${await owner}-`));
}

/** Whether a process listens at a socket. One that may not be asked does. */
function isAlive(path: string): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(path, () => {
      socket.destroy();
      resolve(true);
    });
    socket.on("error", ({ code }: NodeJS.ErrnoException) => {
      resolve(code !== "ECONNREFUSED" && code !== "ENOENT");
    });
  });
}

/**
 * Removes the folders that processes have left which do not run any more: processes of this machine, also in other containers, and
 * earlier ones of this container or of a machine of this name. A machine cannot ask the processes of another one.
 * @param before does what must be done before a folder of its kind goes; it must not reject
 */
export async function removeDeadFolders(
  before: Readonly<Record<string, (folder: string) => Promise<void>>> = {},
): Promise<void> {
  const host = shortHash(hostname());
  const boot = bootMark();
  const living = new Map([[START, true]]);
  for (const name of await readdir(tmpdir()).catch(() => [])) {
    const [, kind = "", itsHost = "", itsBoot = "", start = ""] = NAME.exec(name) ?? [];
    if (itsHost === "" || (itsHost !== host && (boot === "" || itsBoot !== boot))) continue;
    const lives = living.get(start) ??
      await isAlive(join(tmpdir(), `sluice-${ALIVE}-${itsHost}-${itsBoot}-${start}`));
    living.set(start, lives);
    if (lives) continue;
    const path = join(tmpdir(), name);
    if (Object.hasOwn(before, kind)) await before[kind]?.(path);
    await rm(path, { recursive: true, force: true }).catch(() => {});
  }
}
