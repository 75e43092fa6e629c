/** Findings that were kept: `cases/KIND/NAME.json`, each an input that once failed. */
import { createHash } from "node:crypto";
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import type { Finding } from "./fuzz.ts";

const FOLDER = fileURLToPath(new URL("./cases", import.meta.url));

export interface KeptCase {
  /** File name without its ending. */
  name: string;
  input: unknown;
  /** What it did when it was found. */
  found: string;
}

/** The kept cases of a kind, by name. */
export function keptCases(kind: string): KeptCase[] {
  const folder = join(FOLDER, kind);
  if (!existsSync(folder)) return [];
  return readdirSync(folder).filter((file) => file.endsWith(".json")).sort().map((file) => {
    const { input, found } = JSON.parse(readFileSync(join(folder, file), "utf8")) as KeptCase;
    return { name: file.slice(0, -".json".length), input, found };
  });
}

/** Keeps a finding. @returns the path of its file */
export function keepCase({ kind, input, fault }: Finding): string {
  const folder = join(FOLDER, kind);
  mkdirSync(folder, { recursive: true });
  const digest = createHash("sha256").update(JSON.stringify(input)).digest("hex").slice(0, 10);
  const path = join(folder, `${fault.type}-${digest}.json`);
  // Only the first lines: the rest of a trace names places of one machine.
  const found = fault.text.split("\n")[0]?.slice(0, 300);
  writeFileSync(path, `${JSON.stringify({ found, input }, null, 2)}\n`);
  return path;
}
