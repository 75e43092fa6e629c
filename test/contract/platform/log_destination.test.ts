/** The log of a real process, written to a real pipe that nobody reads. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import process from "node:process";
import { expect, test } from "vitest";

const LOG = new URL("../../../src/platform/log.ts", import.meta.url).href;

/** Logs far more than a pipe and the buffer hold, says so on stderr, and ends properly. */
const FLOOD = `
import { createLogger, flushLog } from ${JSON.stringify(LOG)};
const log = createLogger("info");
for (let i = 0; i < 20_000; i++) log.info({ i, text: "x".repeat(100) }, "a line");
process.stderr.write("logged");
await flushLog(log);
process.exit(0);
`;

test("a process whose log nobody reads goes on and ends", async () => {
  const runtime = "Deno" in globalThis
    ? `"${process.execPath}" run -A -q -`
    : `"${process.execPath}" --input-type=module -`;
  // The reader holds the pipe open without reading until its own input ends.
  const child = spawn("sh", ["-c", `{ ${runtime}; echo "; ended $?" >&2; } | { cat <&3; true; }`], {
    stdio: ["pipe", "ignore", "pipe", "pipe"],
  });
  let text = "";
  child.stderr?.on("data", (chunk: Uint8Array) => (text += String(chunk)));
  child.stdin?.end(FLOOD);
  await expect.poll(() => text, { timeout: 20_000, interval: 20 }).toBe("logged; ended 0\n");
  (child.stdio[3] as NodeJS.WritableStream).end();
  await once(child, "exit");
});
