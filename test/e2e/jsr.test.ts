/** What `deno.json` describes for JSR can be published: types are explicit, and every module that is reached is included. */
import { execFileSync } from "node:child_process";
import process from "node:process";
import { test } from "vitest";

test.runIf("Deno" in globalThis)("deno publish --dry-run refuses nothing", () => {
  // Throws what is refused.
  execFileSync(process.execPath, ["publish", "--dry-run", "--allow-dirty", "--quiet"], {
    encoding: "utf8",
    stdio: "pipe",
  });
});
