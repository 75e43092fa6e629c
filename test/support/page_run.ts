/** Runs a page's commands in a place of their own and compares what they print with what the page shows. */
import { mkdirSync, readdirSync, symlinkSync, writeFileSync } from "node:fs";
import { delimiter, join } from "node:path";
import process from "node:process";
import { type Block, comparable, type Shell, splitLast } from "./markdown_commands.ts";

const ROOT = join(import.meta.dirname ?? "", "../..");
/** How long an output may take to become what the page shows. */
const PATIENCE_MS = 30_000;

/** Where the reader of a page begins. */
export interface Place {
  cwd: string;
  env: NodeJS.ProcessEnv;
}

interface PlaceOptions {
  /** The reader has no checkout. @default {false} */
  isEmpty?: boolean;
  /** @default that of this process */
  env?: NodeJS.ProcessEnv;
  /** Scripts for `sh` that the page finds under these names. */
  programs?: Record<string, string>;
}

/**
 * Makes the place of a page. `npx -y deno@…` is this Deno there, so that it is not loaded.
 *
 * @param folder empty; for everything that the commands leave
 */
export function placeIn(
  folder: string,
  { isEmpty = false, env = process.env, programs = {} }: PlaceOptions = {},
): Place {
  const at = (name: string) => join(folder, name);
  const [cwd, bin, TMPDIR] = [at("here"), at("bin"), at("tmp")];
  for (const one of [cwd, bin, TMPDIR]) mkdirSync(one);
  for (const name of isEmpty ? [] : readdirSync(ROOT)) {
    if (!name.startsWith(".")) symlinkSync(join(ROOT, name), join(cwd, name));
  }
  const npx = `case "$2" in deno@*) shift 2; exec "${process.execPath}" "$@";; esac
PATH="\${PATH#*:}" exec npx "$@"`;
  for (const [name, script] of Object.entries({ npx, ...programs })) {
    writeFileSync(join(bin, name), `#!/bin/sh\n${script}\n`, { mode: 0o755 });
  }
  const { PATH = "" } = env;
  return { cwd, env: { ...env, PATH: bin + delimiter + PATH, TMPDIR, NO_COLOR: "1" } };
}

/** The last command is repeated until it prints what the page shows: a reader is slower than this test. */
export async function runBlock(bash: Shell, block: Block, place: string): Promise<void> {
  const { commands, printed } = block;
  if (printed === undefined) {
    await bash.run(commands);
    return;
  }
  const [before, last] = splitLast(commands);
  if (before !== "") await bash.run(before);
  const wanted = comparable(printed);
  const deadline = Date.now() + PATIENCE_MS;
  for (;;) {
    const shown = comparable(await bash.run(last));
    if (shown.endsWith(wanted)) return;
    if (Date.now() > deadline) throw new Error(`${place} shows\n${wanted}\nand prints\n${shown}`);
    await new Promise((done) => setTimeout(done, 100));
  }
}
