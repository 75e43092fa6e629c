// deno-lint-ignore-file no-console -- a program for the terminal
/** `deno task bench NAME [arguments…]`: runs a benchmark of the folder `bench`. Without a name it lists them. */
import { spawnSync } from "node:child_process";
import { readdirSync } from "node:fs";
import { join } from "node:path";
import process from "node:process";

const FOLDER = join(import.meta.dirname ?? "", "../bench");
const names = readdirSync(FOLDER).filter((file) => file.endsWith(".ts"))
  .map((file) => file.slice(0, -3));

const [name, ...args] = process.argv.slice(2);
if (name === undefined || !names.includes(name)) {
  console.error(`deno task bench NAME, one of: ${names.join(", ")}`);
  process.exit(2);
}
// With --expose-gc, a benchmark can tell what is in use from garbage.
const command = ["run", "-A", "--v8-flags=--expose-gc", join(FOLDER, `${name}.ts`), ...args];
process.exit(spawnSync(process.execPath, command, { stdio: "inherit" }).status ?? 1);
