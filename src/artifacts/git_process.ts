/** Calls of git, which end when they are told to, or when their server starts again. */
import { spawn } from "node:child_process";
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import process from "node:process";

/** Most characters of what git says that are kept. */
const MAX_SAID = 64 * 1024;
/** The file with the number of the process group that uses the folder. */
const GROUP = "group";
/**
 * Ends a git that a killed server has left, before the folder of its clone is removed: it writes where the next attempt does.
 * @param folder that of the clone, with its secrets
 */
export async function endLeftGit(folder: string): Promise<void> {
  const group = Number(await readFile(join(folder, GROUP), "utf8").catch(() => ""));
  // Another process may have its number now.
  const variables = await readFile(`/proc/${group}/environ`, "utf8").catch(() => "");
  if (variables.split("\0").includes(`HOME=${folder}`)) killGroup(group);
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
