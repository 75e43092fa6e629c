/** A clone ends with its step, and what a killed server leaves of one is removed. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { createServer, type Server } from "node:net";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import process from "node:process";
import { afterAll, beforeAll, expect, test, vi } from "vitest";
import { createArtifactStore } from "../../../src/artifacts/artifact_store.ts";
import { endLeftGit } from "../../../src/artifacts/git_process.ts";
import { isRunning } from "../../../src/platform/process/own_machine.ts";
import { makeTempFolder } from "../../../src/platform/process/temp_folders.ts";

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
  const other = await makeTempFolder("other");
  await rm(other, { recursive: true });
  const start = basename(other).replace(/-other-/, "-git-").slice(0, -6);
  return (await readdir(tmpdir())).filter((name) => name.startsWith(start));
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

test("a git that a killed server has left is ended, and nobody else who has its number now", async () => {
  const folder = await makeTempFolder("git");
  try {
    const git = spawn("sleep", ["100"], { env: { ...process.env, HOME: folder }, detached: true });
    const stranger = spawn("sleep", ["100"], { detached: true });
    const ended = once(git, "exit");
    await writeFile(join(folder, "group"), String(git.pid));
    await endLeftGit(folder);
    await ended;
    await writeFile(join(folder, "group"), String(stranger.pid));
    await endLeftGit(folder);
    expect(isRunning(stranger.pid ?? 0)).toBe(true);
    stranger.kill("SIGKILL");
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
});
