/** Scripts written for the reference run here unchanged: a walk with the real Hera. */
import { execFile } from "node:child_process";
import { existsSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { afterAll, beforeAll, expect, test } from "vitest";
import { type ServerProcess, startServer } from "../support/server_process.ts";

const HERA = "hera==7.1.0";
const SCRIPT = fileURLToPath(new URL("../clients/hera_walk.py", import.meta.url));
/** Made once and kept, because an installation takes longer than the walk. */
const ENVIRONMENT = join(tmpdir(), `sluice-${HERA.replace("==", "-")}`);

const run = promisify(execFile);
let server: ServerProcess;
let folder: string;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "sluice-hera-"));
  const python = join(ENVIRONMENT, "bin", "python");
  const isThere = existsSync(python) &&
    await run(python, ["-c", "import hera"]).then(() => true, () => false);
  if (!isThere) {
    await run("python3", ["-m", "venv", ENVIRONMENT]);
    await run(python, ["-m", "pip", "install", "--quiet", "--disable-pip-version-check", HERA]);
  }
  server = await startServer([`--store=sqlite:${join(folder, "store")}`, "--executor=process"]);
});

afterAll(async () => {
  await server?.stop();
  await rm(folder, { recursive: true, force: true });
});

test("Hera creates, waits, resumes, stops, retries and cleans up", async () => {
  const python = join(ENVIRONMENT, "bin", "python");
  const { stdout } = await run(python, [SCRIPT, server.url], { timeout: 120_000 })
    .catch((error: { stdout?: string; stderr?: string }) => {
      throw new Error(`${error.stdout ?? ""}${error.stderr ?? String(error)}`);
    });
  expect(stdout.trim().split("\n").map((line) => line.slice(0, 2))).toEqual(
    Array.from({ length: 12 }, () => "ok"),
  );
});
