/**
 * A real S3 server for tests: versitygw over a folder. Taken from PATH or from the cache of an earlier run; built with
 * go if `CI` or `SLUICE_TEST_S3` is set.
 */
import { spawn, spawnSync } from "node:child_process";
import { existsSync } from "node:fs";
import { mkdir, mkdtemp, rm } from "node:fs/promises";
import { homedir, tmpdir } from "node:os";
import { join } from "node:path";
import process from "node:process";
import { freePort } from "./free_port.ts";

const PACKAGE = "github.com/versity/versitygw/cmd/versitygw@v1.8.0";
const CACHE = join(process.env["XDG_CACHE_HOME"] ?? join(homedir(), ".cache"), "sluice-test");
const CACHED = join(CACHE, "versitygw");

export interface S3Server {
  endpoint: string;
  accessKey: string;
  secretKey: string;
  bucket: string;
  stop(): Promise<void>;
}

/** The program, or why there is none. */
export function findS3Server(): { path: string } | { missing: string } {
  if (spawnSync("versitygw", ["--version"], { stdio: "ignore" }).status === 0) {
    return { path: "versitygw" };
  }
  if (existsSync(CACHED)) return { path: CACHED };
  return {
    missing: mayBuild()
      ? "versitygw could not be built with go"
      : "no versitygw on PATH; set SLUICE_TEST_S3=1 to build it with go",
  };
}

/**
 * Builds the program if it is missing and may be built. Takes a minute or more on all processors, so it is done before the
 * tests, not by each file that needs it.
 */
export function buildS3Server(): void {
  if (!mayBuild() || "path" in findS3Server()) return;
  spawnSync("go", ["install", PACKAGE], {
    env: { ...process.env, GOBIN: CACHE },
    stdio: ["ignore", "ignore", "inherit"],
  });
}

function mayBuild(): boolean {
  const { CI, SLUICE_TEST_S3 } = process.env;
  return CI !== undefined || SLUICE_TEST_S3 !== undefined;
}

/** Starts it with one bucket, on a free port. */
export async function startS3Server(path: string): Promise<S3Server> {
  const root = await mkdtemp(join(tmpdir(), "sluice-s3-"));
  const [data, sidecar] = [join(root, "data"), join(root, "meta")];
  await mkdir(join(data, "artifacts"), { recursive: true });
  await mkdir(sidecar);
  const endpoint = `127.0.0.1:${await freePort()}`;
  const [accessKey, secretKey] = ["access", "secret-key"];
  const child = spawn(
    path,
    [
      "--port",
      endpoint,
      "--access",
      accessKey,
      "--secret",
      secretKey,
      "--quiet",
      "posix",
      "--sidecar",
      sidecar,
      data,
    ],
    { stdio: ["ignore", "ignore", "pipe"] },
  );
  let stderr = "";
  child.stderr.on("data", (chunk) => stderr += String(chunk));
  const ended = new Promise<void>((resolve) => child.once("exit", () => resolve()));
  for (let tries = 0;; tries++) {
    if (child.exitCode !== null) throw new Error(`versitygw ended: ${stderr}`);
    const answers = await fetch(`http://${endpoint}/`).then(
      (response) => response.body?.cancel().then(() => true) ?? true,
      () => false,
    );
    if (answers) break;
    if (tries === 200) throw new Error(`versitygw does not answer: ${stderr}`);
    await new Promise((resolve) => setTimeout(resolve, 25));
  }
  return {
    endpoint,
    accessKey,
    secretKey,
    bucket: "artifacts",
    async stop() {
      child.kill();
      await ended;
      await rm(root, { recursive: true, force: true });
    },
  };
}
