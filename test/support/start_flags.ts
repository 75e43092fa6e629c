/** How the start task of a checkout runs the server: measurements and tests have the same bound on the heap as users have. */
import { readFileSync } from "node:fs";
import { join } from "node:path";

const ROOT = join(import.meta.dirname ?? "", "../..");

/** Arguments of Deno before the program, of the start task in `deno.json`. */
export function startFlags(folder = ROOT): string[] {
  const { tasks } = JSON.parse(readFileSync(join(folder, "deno.json"), "utf8"));
  return String(tasks.start).split(" ").slice(1, -1);
}

/** The same for Node, which takes the flags of V8 as its own. */
export function nodeStartFlags(): string[] {
  const prefix = "--v8-flags=";
  return startFlags().filter((flag) => flag.startsWith(prefix))
    .flatMap((flag) => flag.slice(prefix.length).split(","));
}
