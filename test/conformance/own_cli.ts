/**
 * Plays the recorded sessions of the official command line with this project's own: the same commands and options, the
 * same answers. Errors have the server's words, without the name of a protocol that it does not speak.
 */
import { chmod, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import process from "node:process";
import { fileURLToPath } from "node:url";
import { playSessions } from "./cli.ts";
import type { ConformanceResult } from "./result.ts";

/** The official client puts this before a message; ours deliberately does not. */
const STATUS_NAME = /rpc error: code = \w+ desc = /g;

/** Plays every session in `dir`, or in its folder `cli`. */
export async function run(dir: string): Promise<ConformanceResult> {
  const folder = await mkdtemp(join(tmpdir(), "sluice-own-cli-"));
  const main = fileURLToPath(new URL("../../src/cli/main.ts", import.meta.url));
  const command = "deno" in process.versions
    ? `"${process.execPath}" run -A -q`
    : `"${process.execPath}"`;
  const argo = join(folder, "argo");
  // The runner gives the command its own home, which has no cache of the runtime.
  const home = process.env["HOME"] ?? "";
  await writeFile(argo, `#!/bin/sh\nHOME="${home}" exec ${command} "${main}" "$@"\n`);
  await chmod(argo, 0o755);
  try {
    const { passed, total, lines } = await playSessions(dir, argo);
    const kept = withoutStatusNames(lines);
    const same = lines.filter(isHead).length - kept.filter(isHead).length;
    return { passed: passed + same, total, lines: kept };
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

function isHead(line: string): boolean {
  return / step \d+ {2}/.test(line);
}

/** Drops differences that only concern the name of the status. */
function withoutStatusNames(lines: readonly string[]): string[] {
  const kept: string[] = [];
  let group: string[] = [];
  const end = () => {
    const [expected, got] = ["expected", "got"].map((word) =>
      group.map((line) => new RegExp(`^ *${word} +(.*)$`).exec(line)?.[1])
        .find((text) => text !== undefined)
    );
    const isSame = group.filter((line) => / differs$/.test(line)).length === 1 &&
      expected?.replace(STATUS_NAME, "") === got;
    if (!isSame) kept.push(...group);
    group = [];
  };
  for (const line of lines) {
    if (isHead(line) || !line.startsWith(" ")) end();
    group.push(line);
  }
  end();
  return kept;
}
