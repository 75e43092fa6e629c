/** Calls of git, which end when they are told to, and the folders of their secrets, which do not outlive their server for long. */
import { spawn } from "node:child_process";
import { randomBytes } from "node:crypto";
import { mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import process from "node:process";
import { isRunning, machineMark } from "../platform/process/own_machine.ts";

/** Most characters of what git says that are kept. */
const MAX_SAID = 64 * 1024;
const FOLDER = /^sluice-git-([a-z0-9]*)-(\d+)-([a-f0-9]+)-\w+$/;
/** The file with the number of the process group that uses the folder. */
const GROUP = "group";
/** Tells this process from an earlier one of the same number: in a container it often is. */
const START = randomBytes(4).toString("hex");

/** Makes a folder for the secrets of a clone. */
export async function makeGitFolder(): Promise<string> {
  return await mkdtemp(join(tmpdir(), `sluice-git-${machineMark()}-${process.pid}-${START}-`));
}

/**
 * Removes what servers have left that were killed during a clone: the folders with its secrets. A git that still runs is
 * killed before, since it writes where the next attempt does.
 */
export async function removeDeadClones(): Promise<void> {
  for (const name of await readdir(tmpdir()).catch(() => [])) {
    const [, machine, pid, start] = FOLDER.exec(name) ?? [];
    if (machine !== machineMark() || start === START) continue;
    if (Number(pid) !== process.pid && isRunning(Number(pid))) continue;
    const folder = join(tmpdir(), name);
    const group = Number(await readFile(join(folder, GROUP), "utf8").catch(() => ""));
    // Another process may have its number now.
    const variables = await readFile(`/proc/${group}/environ`, "utf8").catch(() => "");
    if (variables.split("\0").includes(`HOME=${folder}`)) killGroup(group);
    await rm(folder, { recursive: true, force: true }).catch(() => {});
  }
}

/**
 * Runs git until its end, or until the signal ends it with all that it has started.
 * @param folder that of the clone; `HOME` in `env`
 * @throws {Error} what git says when it fails
 * @throws {unknown} the reason of the signal
 */
export async function runGit(
  args: readonly string[],
  env: NodeJS.ProcessEnv,
  folder: string,
  signal: AbortSignal,
): Promise<void> {
  signal.throwIfAborted();
  // In a group of its own: ssh and the helpers of git end with it.
  const child = spawn("git", args, { env, detached: true, stdio: ["ignore", "ignore", "pipe"] });
  const stop = () => killGroup(child.pid);
  signal.addEventListener("abort", stop);
  try {
    let said = "";
    child.stderr?.setEncoding("utf8").on("data", (text: string) => {
      if (said.length < MAX_SAID) said += text;
    });
    const ended = new Promise<number | string | null>((resolve, reject) => {
      child.on("error", reject);
      child.on("close", (code, by) => resolve(code ?? by));
    });
    if (child.pid !== undefined) await writeFile(join(folder, GROUP), `${child.pid}`);
    const code = await ended;
    signal.throwIfAborted();
    if (code !== 0) throw new Error(said.trim() === "" ? `git ended with ${code}` : said.trim());
  } finally {
    signal.removeEventListener("abort", stop);
  }
}

function killGroup(pid: number | undefined): void {
  try {
    // Group 0 would be this server's own.
    if (pid !== undefined && pid > 0) process.kill(-pid, "SIGKILL");
  } catch {
    // It has ended.
  }
}
