/**
 * Conformance of the API as the official command line sees it: plays the recorded sessions with the `argo` on PATH. The
 * figures are commands.
 */
import { execFile } from "node:child_process";
import { join } from "node:path";
import { promisify } from "node:util";
import { startApiServer } from "../support/api_server.ts";
import { exists, locate, play } from "./api.ts";
import type { ConformanceResult } from "./result.ts";

/** Plays every session in `dir`, or in its folder `cli`. Nothing passes without the official client. */
export async function run(dir: string): Promise<ConformanceResult> {
  const version = await promisify(execFile)("argo", ["version", "--short"])
    .then(({ stdout }) => stdout.trim(), () => undefined);
  if (version === undefined) {
    const line = "Nothing was played: the official client is not on PATH as argo. " +
      "`deno task conformance own-cli` plays the same sessions with this project's command line";
    return { passed: 0, total: 0, lines: [line] };
  }
  const result = await playSessions(dir, "argo");
  return { ...result, lines: [version, ...result.lines] };
}

/** Plays the sessions against a server in this process, with a command that takes the arguments of `argo`. */
export async function playSessions(
  dir: string,
  argo: string,
): Promise<{ passed: number; total: number; lines: string[] }> {
  const { runner } = await locate(dir);
  const nested = join(dir, "cli");
  const sessions = await exists(nested) ? nested : dir;
  const { server, stop } = await startApiServer({
    gatekeeper: { server: true, authenticators: [] },
    eventWorkers: 4,
  });
  try {
    const url = `http://127.0.0.1:${server.port}`;
    const output = await play(runner, [
      "--cli",
      sessions,
      "--argo",
      argo,
      "--base-url",
      url,
      "--show",
    ]);
    const summary = /steps (\d+)\/(\d+)/.exec(output);
    if (summary === null) throw new Error(`The runner printed no summary:\n${output}`);
    const lines = output.split("\n").filter((line) => line !== "" && !/^scenarios /.test(line));
    return { passed: Number(summary[1]), total: Number(summary[2]), lines };
  } finally {
    await stop();
  }
}
