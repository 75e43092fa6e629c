/**
 * Conformance of the API as the official command line sees it: plays the recorded sessions with the `argo` that is on
 * PATH. The figures are commands.
 */
import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { join } from "node:path";
import { startApiServer } from "../support/api_server.ts";
import { exists, locate, play } from "./api.ts";
import type { ConformanceResult } from "./result.ts";

/** Plays every session in `dir`, or in its folder `cli`. */
export async function run(dir: string): Promise<ConformanceResult> {
  const hasArgo = await promisify(execFile)("argo", ["version", "--short"])
    .then(() => true, () => false);
  if (!hasArgo) {
    return {
      passed: 0,
      total: 0,
      lines: ["Nothing was played: the official client is not on PATH as argo"],
    };
  }
  const { runner } = await locate(dir);
  const nested = join(dir, "cli");
  const sessions = await exists(nested) ? nested : dir;
  const { server, stop } = await startApiServer({
    gatekeeper: { server: true, authenticators: [] },
    eventWorkers: 4,
  });
  try {
    const url = `http://127.0.0.1:${server.port}`;
    const output = await play(runner, ["--cli", sessions, "--argo", "argo", "--base-url", url]);
    const summary = /steps (\d+)\/(\d+)/.exec(output);
    if (summary === null) throw new Error(`The runner printed no summary:\n${output}`);
    const lines = output.split("\n").filter((line) => line !== "" && line !== summary.input);
    return { passed: Number(summary[1]), total: Number(summary[2]), lines };
  } finally {
    await stop();
  }
}
