import { type ChildProcess, spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { existsSync } from "node:fs";
import { mkdtemp, readdir, rename, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import process from "node:process";
import { afterAll, afterEach, beforeAll, expect, test, vi } from "vitest";
import { makeTempFolder, removeDeadFolders } from "./temp_folders.ts";

/** Makes a folder, says its name, and lives on. */
const OTHER = `
const { makeTempFolder } = await import(${
  JSON.stringify(new URL("temp_folders.ts", import.meta.url).href)
});
console.log(await makeTempFolder("trial"));
setInterval(() => {}, 1000);
`;
/** As in a container: it sees no process of this test, and none of them sees it by its own number. */
const APART = ["unshare", "--map-root-user", "--pid", "--fork", "--kill-child"];
const canBeApart = spawnSync(APART[0] ?? "", [...APART.slice(1), "true"]).status === 0;

// A server that another test starts would remove the folders too.
let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "sluice-test-temp-"));
  vi.stubEnv("TMPDIR", folder);
});
afterAll(async () => {
  vi.unstubAllEnvs();
  await rm(folder, { recursive: true });
});

let others: ChildProcess[] = [];
afterEach(() => {
  for (const other of others) other.kill("SIGKILL");
  others = [];
});

/** Starts a process that has a folder. */
async function start(around: readonly string[] = []): Promise<[ChildProcess, string]> {
  const runtime = "Deno" in globalThis
    ? [process.execPath, "eval", OTHER]
    : [process.execPath, "--input-type=module", "--eval", OTHER];
  const [program = "", ...args] = [...around, ...runtime];
  const other = spawn(program, args, { stdio: ["ignore", "pipe", "inherit"] });
  others.push(other);
  const [line] = await once(other.stdout as NodeJS.EventEmitter, "data") as [Uint8Array];
  return [other, new TextDecoder().decode(line).trim()];
}

async function kill(other: ChildProcess): Promise<void> {
  other.kill("SIGKILL");
  await once(other, "exit");
}

/** What there is of the process that made a folder. */
async function left(made: string): Promise<string[]> {
  const [start = ""] = basename(made).split("-").slice(-2);
  return (await readdir(folder)).filter((name) => name.includes(start)).sort();
}

test("folders of processes that were killed go, those of others stay", async () => {
  const own = await makeTempFolder("trial");
  const [living, stays] = await start();
  const [killed, goes] = await start();
  await writeFile(join(goes, "content"), "x");
  expect(await left(goes)).toEqual([expect.stringMatching(/^sluice-alive-/), basename(goes)]);
  await kill(killed);
  const seen: string[] = [];
  await removeDeadFolders({
    trial: (found) => {
      if (existsSync(found)) seen.push(found);
      return Promise.resolve();
    },
  });
  expect(seen).toEqual([goes]);
  expect(await left(goes)).toEqual([]);
  expect([own, stays].filter((made) => existsSync(made))).toEqual([own, stays]);
  await kill(living);
  await removeDeadFolders();
  expect(existsSync(stays)).toBe(false);
});

test.skipIf(!canBeApart)(
  "so do those of containers that have ended, and those of running ones stay",
  async () => {
    const [other, made] = await start(APART);
    await removeDeadFolders();
    expect(existsSync(made)).toBe(true);
    await kill(other);
    await expect.poll(async () => {
      await removeDeadFolders();
      return await left(made);
    }, { timeout: 5_000 }).toEqual([]);
  },
);

test("those of other machines stay, whose processes cannot be asked", async () => {
  const [other, made] = await start();
  const foreign = made.replace(/-trial-\w{8}-\w{0,8}-/, "-trial-01234567-01234567-");
  await rename(made, foreign);
  await kill(other);
  await removeDeadFolders();
  expect(existsSync(foreign)).toBe(true);
});
