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
  const cached = join(CACHE, "versitygw");
  if (existsSync(cached)) return { path: cached };
  const { CI, SLUICE_TEST_S3 } = process.env;
  if (CI === undefined && SLUICE_TEST_S3 === undefined) {
    return { missing: "no versitygw on PATH; set SLUICE_TEST_S3=1 to build it with go" };
  }
  const built = spawnSync("go", ["install", PACKAGE], {
    env: { ...process.env, GOBIN: CACHE },
    stdio: ["ignore", "ignore", "inherit"],
  });
  return built.status === 0
    ? { path: cached }
    : { missing: "versitygw could not be built with go" };
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
