/** The npm package as `npm pack` makes it, in a folder of its own: packing leaves nothing in the checkout. */
import { execFileSync, spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { nodeCommand } from "../../tools/test.ts";

const ROOT = join(import.meta.dirname, "../..");
/** Long, because npm itself takes seconds on a busy machine. */
const REGISTRY_MS = 60_000;
const SOURCES = [
  "src",
  "tools/build_package.ts",
  "examples",
  "package.json",
  "tsconfig.json",
  "tsconfig.build.json",
  "deno.json",
  "deno.lock",
  "README.md",
  "LICENSE",
];

/** Why packages cannot be installed here; undefined if they can. */
export function registryMissing(): string | undefined {
  const { status, stderr } = spawnSync("npm", ["ping"], { encoding: "utf8", timeout: REGISTRY_MS });
  if (status === 0) return undefined;
  return `npm's registry is out of reach: ${stderr.trim().slice(-200) || "no answer"}`;
}

/** The folder of a Node ≥ 24. */
export function nodeFolder(): string {
  const { command, args } = nodeCommand();
  const print = [...args, "-p", "process.execPath"];
  return dirname(execFileSync(command, print, { encoding: "utf8" }).trim());
}

export interface Packed {
  /** The tarball. */
  file: string;
  /** Its size, bytes. */
  size: number;
  /** Paths inside. */
  paths: string[];
}

/** Where {@linkcode packOnce} keeps the package, below a name for the sources. */
const KEPT = join(ROOT, "node_modules/.cache/sluice-packed");
const KEPT_RECORD = "packed.json";

/** The package of the working tree, built again only when its sources have changed. */
export function packOnce(): Packed {
  const folder = join(KEPT, sourcesHash());
  const record = join(folder, KEPT_RECORD);
  if (!existsSync(record)) {
    const work = mkdtempSync(join(tmpdir(), "sluice-pack-"));
    const { file, ...rest } = pack(join(work, "sources"));
    rmSync(KEPT, { recursive: true, force: true });
    mkdirSync(folder, { recursive: true });
    cpSync(file, join(folder, "sluice.tgz"));
    // Last, because it says that the rest is there.
    writeFileSync(record, JSON.stringify(rest));
    rmSync(work, { recursive: true });
  }
  return { ...JSON.parse(readFileSync(record, "utf8")), file: join(folder, "sluice.tgz") };
}

function sourcesHash(): string {
  const hash = createHash("sha256");
  for (const file of SOURCES.flatMap(filesOf)) {
    const text = readFileSync(join(ROOT, file));
    hash.update(`${file} ${text.length}\n`).update(text);
  }
  return hash.digest("hex").slice(0, 32);
}

/** Files at or below a path of the repository. */
function filesOf(path: string): string[] {
  if (!statSync(join(ROOT, path)).isDirectory()) return [path];
  return readdirSync(join(ROOT, path)).sort().flatMap((name) => filesOf(join(path, name)));
}

/** Packs the working tree. @param folder is made for it */
export function pack(folder: string): Packed {
  for (const name of SOURCES) {
    mkdirSync(dirname(join(folder, name)), { recursive: true });
    cpSync(join(ROOT, name), join(folder, name), { recursive: true });
  }
  symlinkSync(join(ROOT, "node_modules"), join(folder, "node_modules"));
  const text = execFileSync("npm", ["pack", "--json", "--silent"], {
    cwd: folder,
    encoding: "utf8",
  });
  const [made] = JSON.parse(text) as {
    filename: string;
    size: number;
    files: { path: string }[];
  }[];
  if (made === undefined) throw new Error(`npm pack made nothing: ${text}`);
  return {
    file: join(folder, made.filename),
    size: made.size,
    paths: made.files.map(({ path }) => path),
  };
}
