// deno-lint-ignore-file no-console -- a program for the terminal
/**
 * How long `sluice list` takes against a running server: the installed package on Node and on Deno beside the empty program
 * of the same runtime, and the way through a checkout, all in turns.
 *
 * Run: deno task bench cli [--rounds 15]
 * Prints medians of wall time with the best of all in brackets, for a busy machine, and how much later than the empty program
 * the command ends. Needs npm's registry.
 */
import { execFileSync, spawnSync } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import process from "node:process";
import { nodeFolder, packOnce } from "../test/support/packed.ts";
import { startServer } from "../test/support/server_process.ts";
import { quantile } from "../test/support/quantile.ts";

/** How much later than the empty program `list` may end, ms. */
const BAR_MS = 300;
const at = process.argv.indexOf("--rounds");
const rounds = at < 0 ? 15 : Number(process.argv[at + 1]);

const folder = mkdtempSync(join(tmpdir(), "sluice-bench-cli-"));
const server = await startServer(["--store=memory:", "--executor=none"]);
try {
  const packed = packOnce();
  const app = join(folder, "app");
  mkdirSync(app);
  execFileSync("npm", ["install", "--silent", packed.file], { cwd: app });
  const node = join(nodeFolder(), "node");
  const main = join(app, "node_modules/sluice/lib/cli/main.js");
  const commands: Record<string, string[]> = {
    "node -e 0": [node, "-e", "0"],
    "package on Node": [node, main, "list"],
    "deno eval 0": [process.execPath, "eval", "0"],
    "package on Deno": [process.execPath, "run", "-A", main, "list"],
    "checkout (npx … task sluice)": ["npx", "-y", "deno@2.9.6", "task", "-q", "sluice", "list"],
  };
  const env = { ...process.env, SLUICE_SERVER: server.url };
  const times = new Map<string, number[]>(Object.keys(commands).map((name) => [name, []]));
  // The first round fills the caches of compiled modules.
  for (let round = 0; round <= rounds; round++) {
    for (const [name, [command = "", ...args]] of Object.entries(commands)) {
      const started = performance.now();
      const { status, stderr } = spawnSync(command, args, { env, encoding: "utf8" });
      if (status !== 0) throw new Error(`${name} ended with ${status}: ${stderr}`);
      if (round > 0) times.get(name)?.push(performance.now() - started);
    }
  }
  const of = (name: string, share: number) => quantile(times.get(name) ?? [], share);
  const text = (value: (share: number) => number) =>
    `${value(0.5).toFixed(0)} ms (best ${value(0).toFixed(0)} ms)`;
  for (const name of times.keys()) console.log(`${name}: ${text((share) => of(name, share))}`);
  for (const [runtime, empty] of [["Node", "node -e 0"], ["Deno", "deno eval 0"]] as const) {
    const later = (share: number) => of(`package on ${runtime}`, share) - of(empty, share);
    console.log(`${runtime}: list ends ${text(later)} later; the bar is ${BAR_MS} ms`);
  }
} finally {
  await server.stop();
  rmSync(folder, { recursive: true, force: true });
}
