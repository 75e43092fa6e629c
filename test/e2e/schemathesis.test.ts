/** The server against its own description, with few examples of each operation. For more: `deno task schemathesis`. */
import { spawn } from "node:child_process";
import process from "node:process";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";

const TOOL = fileURLToPath(new URL("../../tools/schemathesis.ts", import.meta.url));
const EXAMPLES = process.env.SLUICE_SCHEMATHESIS_EXAMPLES ?? "2";
/** So few examples find little that is new. What fails once fails each time. */
const SEED = "1";

test("no check of schemathesis fails, with authentication on", async () => {
  const args = [...("Deno" in globalThis ? ["run", "-A"] : []), TOOL, "--auth"];
  const child = spawn(process.execPath, [...args, "--examples", EXAMPLES, "--seed", SEED], {
    stdio: ["ignore", "pipe", "pipe"],
  });
  let output = "";
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding("utf8").on("data", (text) => (output += text));
  }
  const status = await new Promise((resolve) => child.once("close", resolve));
  expect(status, output).toBe(0);
});
