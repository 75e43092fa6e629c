/** `deno run -A tools/build_ui.ts [DIR]`: builds scripts and styles of the pages for a package, by default into `dist/ui`. */
import { rm } from "node:fs/promises";
import process from "node:process";
import { buildPages } from "../src/ui/build.ts";

const folder = process.argv[2] ?? "dist/ui";
await rm(folder, { recursive: true, force: true });
await buildPages(folder);
