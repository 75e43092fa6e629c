/** Artifacts that are a git repository at a revision. Needs `git` on PATH. */
import { rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import process from "node:process";
import type { JsonObject } from "../base/json.ts";
import { invalid, Problem, ProblemCode } from "../base/problem.ts";
import { makeTempFolder } from "../platform/process/temp_folders.ts";
import { runGit } from "./git_process.ts";
import type { ReadSecret } from "./http_artifact.ts";

/** How long a server may be silent. */
const SILENCE_SECONDS = 60;
/** No clone takes longer, with its fetches and submodules. */
const MAX_CLONE_MS = 30 * 60_000;

/** Settings against hooks and helpers in a repository: they are programs, and would run as the server. */
const SAFE = [
  ["core.hooksPath", "/dev/null"],
  ["core.fsmonitor", "false"],
].flatMap(([name, value]) => ["-c", `${name}=${value}`]);

export interface GitOptions {
  /** Repositories on the server's own disk may be cloned, too. */
  allowLocal: boolean;
  /** Ends the clone. */
  signal?: AbortSignal | undefined;
}

/**
 * Clones a repository to `path`, which must not exist, and checks out its revision. Git gets secrets through its environment
 * or a file, never through its arguments.
 */
export async function cloneRepository(
  location: JsonObject,
  path: string,
  secret: ReadSecret,
  { allowLocal, signal }: GitOptions,
): Promise<void> {
  const { repo, revision, branch, depth, fetch } = location;
  if (typeof repo !== "string" || repo === "") throw invalid("Git artifact has no repo");
  const private_ = await makeTempFolder("git");
  const end = AbortSignal.any([
    AbortSignal.timeout(MAX_CLONE_MS),
    ...(signal === undefined ? [] : [signal]),
  ]);
  try {
    const env = await environment(location, private_, secret, allowLocal);
    const git = (...args: string[]) => runGit([...SAFE, ...args], env, private_, end);
    const clone = ["clone", "--quiet"];
    if (typeof depth === "number" && depth > 0) clone.push(`--depth=${depth}`);
    if (location["singleBranch"] === true) clone.push("--single-branch");
    else if (typeof depth === "number") clone.push("--no-single-branch");
    if (typeof branch === "string" && branch !== "") clone.push(`--branch=${branch}`);
    await git(...clone, "--", repo, path);
    for (const refs of Array.isArray(fetch) ? fetch : []) {
      // After the name of the remote, "--" does not end the options.
      if (String(refs).startsWith("-")) {
        throw invalid(`Git artifact has something to fetch that is not a ref: ${refs}`);
      }
      await git("-C", path, "fetch", "--quiet", "--", "origin", String(refs));
    }
    if (typeof revision === "string" && revision !== "") {
      if (revision.startsWith("-")) {
        throw invalid(`Git artifact has an invalid revision: ${revision}`);
      }
      await git("-C", path, "checkout", "--quiet", revision, "--");
    }
    if (location["disableSubmodules"] !== true) {
      await git("-C", path, "submodule", "update", "--quiet", "--init", "--recursive");
    }
  } catch (error) {
    if (error instanceof Problem) throw error;
    throw new Problem(
      ProblemCode.Unknown,
      `Cannot clone ${withoutPassword(repo)}: ${reason(error)}`,
    );
  } finally {
    await rm(private_, { recursive: true, force: true });
  }
}

async function environment(
  location: JsonObject,
  private_: string,
  secret: ReadSecret,
  allowLocal: boolean,
): Promise<NodeJS.ProcessEnv> {
  const env: NodeJS.ProcessEnv = {
    PATH: process.env["PATH"],
    HOME: private_,
    GIT_TERMINAL_PROMPT: "0",
    GIT_CONFIG_NOSYSTEM: "1",
    GIT_HTTP_LOW_SPEED_LIMIT: "1",
    GIT_HTTP_LOW_SPEED_TIME: String(SILENCE_SECONDS),
    GIT_CONFIG_GLOBAL: "/dev/null",
    GIT_TEMPLATE_DIR: "",
    GIT_ALLOW_PROTOCOL: allowLocal ? "http:https:ssh:git:file" : "http:https:ssh:git",
  };
  const user = await secret(location["usernameSecret"]);
  const password = await secret(location["passwordSecret"]);
  if (user !== undefined || password !== undefined) {
    const pair = Buffer.from(`${user ?? ""}:${password ?? ""}`).toString("base64");
    env["GIT_CONFIG_COUNT"] = "1";
    // Submodules of other servers don't get them.
    env["GIT_CONFIG_KEY_0"] = `http.${
      URL.parse(String(location["repo"]))?.origin ?? ""
    }/.extraHeader`;
    env["GIT_CONFIG_VALUE_0"] = `Authorization: Basic ${pair}`;
  }
  const key = await secret(location["sshPrivateKeySecret"]);
  const ssh = ["ssh", "-o", "BatchMode=yes", "-o", `ConnectTimeout=${SILENCE_SECONDS}`];
  ssh.push("-o", `ServerAliveInterval=${SILENCE_SECONDS}`);
  if (key !== undefined) {
    const file = join(private_, "key");
    await writeFile(file, key.endsWith("\n") ? key : `${key}\n`, { mode: 0o600 });
    ssh.push("-i", file, "-o", "IdentitiesOnly=yes");
  }
  if (location["insecureIgnoreHostKey"] === true) {
    ssh.push("-o", "StrictHostKeyChecking=no", "-o", "UserKnownHostsFile=/dev/null");
  }
  env["GIT_SSH_COMMAND"] = ssh.join(" ");
  if (location["insecureSkipTLS"] === true) env["GIT_SSL_NO_VERIFY"] = "true";
  return env;
}

function withoutPassword(repo: string): string {
  return repo.replace(/\/\/[^/@]*@/, "//");
}

function reason(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  if ("code" in error && error.code === "ENOENT") return "git is not installed on this machine";
  if (error.name === "TimeoutError") return `it takes longer than ${MAX_CLONE_MS / 60_000} minutes`;
  return withoutPassword(error.message);
}
