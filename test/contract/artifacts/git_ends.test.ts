/** A clone ends with its step, and what a killed server leaves of one is removed. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync } from "node:fs";
import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { createServer, type Server } from "node:net";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import process from "node:process";
import { afterAll, beforeAll, expect, test, vi } from "vitest";
import { createArtifactStore } from "../../../src/artifacts/artifact_store.ts";
import { removeDeadClones } from "../../../src/artifacts/git_process.ts";
import { isRunning, machineMark } from "../../../src/platform/process/own_machine.ts";

let dir = "";
let server: Server;
let repo = "";
let calls = 0;
beforeAll(async () => {
  dir = await mkdtemp(join(tmpdir(), "sluice-test-git-"));
  // A git server that never answers.
  server = createServer((socket) => {
    calls++;
    socket.on("error", () => {});
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  repo = `git://127.0.0.1:${(server.address() as AddressInfo).port}/repo`;
});
afterAll(async () => {
  server.close();
  await rm(dir, { recursive: true, force: true });
});

/** Folders of clones of this process. */
async function cloneFolders(): Promise<string[]> {
  return (await readdir(tmpdir())).filter((name) =>
    name.startsWith(`sluice-git-${machineMark()}-${process.pid}-`)
  );
}

function store() {
  return createArtifactStore({
    config: {
      configMap: () => Promise.resolve(undefined),
      secret: () => Promise.resolve({ key: "private" }),
    },
  });
}

test("a clone ends at once when it is told to, with git and its key", async () => {
  const stop = new AbortController();
  const git = { repo, sshPrivateKeySecret: { name: "s", key: "key" } };
  const clone = store().fetch(
    { name: "g", git },
    join(dir, "got"),
    { namespace: "default" },
    stop.signal,
  );
  const failed = expect(clone).rejects.toThrow("Cannot clone");
  await vi.waitFor(() => expect(calls).toBe(1), { timeout: 10_000 });
  const [folder = ""] = await cloneFolders();
  expect(await readFile(join(tmpdir(), folder, "key"), "utf8")).toBe("private\n");
  const pid = Number(await readFile(join(tmpdir(), folder, "group"), "utf8"));
  expect(isRunning(pid)).toBe(true);
  stop.abort();
  await failed;
  expect(isRunning(pid)).toBe(false);
  expect(await cloneFolders()).toEqual([]);
});

test("what a killed server has left of a clone is removed at the next start, with a git that still runs", async () => {
  const gone = spawn("true");
  await once(gone, "exit");
  const make = async (pid: number, start: string) => {
    const folder = join(tmpdir(), `sluice-git-${machineMark()}-${pid}-${start}-abcdef`);
    await mkdir(folder);
    await writeFile(join(folder, "key"), "private");
    return folder;
  };
  const dead = await make(gone.pid ?? 0, "00000001");
  const earlier = await make(process.pid, "00000002");
  const living = await make(process.ppid, "00000003");
  try {
    const git = spawn("sleep", ["100"], { env: { ...process.env, HOME: dead }, detached: true });
    const stranger = spawn("sleep", ["100"], { detached: true });
    await writeFile(join(dead, "group"), String(git.pid));
    await writeFile(join(earlier, "group"), String(stranger.pid));
    const ended = once(git, "exit");
    await removeDeadClones();
    await ended;
    expect(isRunning(stranger.pid ?? 0)).toBe(true);
    stranger.kill("SIGKILL");
    expect([dead, earlier, living].map((folder) => existsSync(folder))).toEqual([
      false,
      false,
      true,
    ]);
  } finally {
    await rm(living, { recursive: true, force: true });
  }
});
