// deno-lint-ignore-file no-console -- a program for the terminal
/**
 * `deno task docs [build|dev|preview]`: the documentation as a site, in `dist/docs`. A dead link fails the build. VitePress
 * comes through npx, because only this task needs it.
 */
import { spawnSync } from "node:child_process";
import { join } from "node:path";
import process from "node:process";

const VITEPRESS = "vitepress@1.6.4";

const [command = "build", ...rest] = process.argv.slice(2);
const { status, error } = spawnSync("npx", ["-y", VITEPRESS, command, "docs", ...rest], {
  cwd: join(import.meta.dirname ?? "", ".."),
  stdio: "inherit",
});
if (error !== undefined) console.error(error.message);
process.exit(status ?? 1);
