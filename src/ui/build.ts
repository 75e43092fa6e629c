/** Bundles scripts and styles of the pages with esbuild, for a package or into a cache beside the installed packages. */
import { createHash, randomBytes } from "node:crypto";
import { cp, mkdir, readdir, readFile, rename, rm, stat, writeFile } from "node:fs/promises";
import { basename, join } from "node:path";
import type { BuildResult, Metafile } from "esbuild";
import { type BuildIndex, INDEX_FILE } from "./assets.ts";

const APP = join(import.meta.dirname, "app");
const ROOT = join(import.meta.dirname, "../..");
const CACHE = join(ROOT, "node_modules/.cache/sluice-ui");
const ICON = "icon.svg";

/** Builds unless this source was built before; resolves with the folder. */
export async function buildInCache(): Promise<string> {
  const folder = join(CACHE, await sourceHash());
  if (await stat(join(folder, INDEX_FILE)).catch(() => undefined)) return folder;
  // Several processes may build at once: each into its own folder, and the first one to finish wins.
  const draft = `${folder}-${randomBytes(4).toString("hex")}`;
  await buildPages(draft);
  await rename(draft, folder).catch(() => rm(draft, { recursive: true, force: true }));
  return folder;
}

/** A hash of everything that the bundles are made of. The lock file stands for the packages. */
async function sourceHash(): Promise<string> {
  const hash = createHash("sha256");
  const entries = await readdir(APP, { recursive: true, withFileTypes: true });
  const files = entries.filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name)).sort();
  const more = ["deno.lock", "package.json", "src/ui/build.ts"].map((name) => join(ROOT, name));
  for (const file of [...files, ...more]) {
    hash.update(`${file}\n`).update(await readFile(file).catch(() => ""));
  }
  return hash.digest("hex").slice(0, 16);
}

/**
 * Builds into a folder; resolves with the files that went into the bundles, as paths from the repository's root.
 * @throws what esbuild reports
 */
export async function buildPages(folder: string): Promise<string[]> {
  const esbuild = await import("esbuild");
  await mkdir(folder, { recursive: true });
  try {
    const result = await esbuild.build({
      absWorkingDir: ROOT,
      entryPoints: {
        app: join(APP, "main.tsx"),
        layout: join(APP, "layout_worker.ts"),
        style: join(APP, "style/main.css"),
      },
      outdir: folder,
      entryNames: "[name]-[hash]",
      chunkNames: "[name]-[hash]",
      bundle: true,
      splitting: true,
      format: "esm",
      target: "es2023",
      minify: true,
      metafile: true,
      jsx: "automatic",
      jsxImportSource: "preact",
      legalComments: "eof",
      logLevel: "silent",
    });
    await cp(join(APP, "style", ICON), join(folder, ICON));
    await writeFile(join(folder, INDEX_FILE), JSON.stringify(indexOf(result), null, 2));
    return Object.keys(result.metafile.inputs);
  } finally {
    await esbuild.stop();
  }
}

function indexOf({ metafile }: BuildResult<{ metafile: true }>): BuildIndex {
  const outputs = Object.entries(metafile.outputs);
  const fileOf = (source: string) => {
    const found = outputs.find(([, { entryPoint }]) => entryPoint?.endsWith(source));
    if (found === undefined) throw new Error(`esbuild made nothing of ${source}`);
    return found;
  };
  const [script, { imports }] = fileOf("main.tsx");
  return {
    script: basename(script),
    preloads: staticImports(metafile, imports),
    style: basename(fileOf("style/main.css")[0]),
    worker: basename(fileOf("layout_worker.ts")[0]),
    icon: ICON,
  };
}

/** Files that a script imports at once, directly or not. */
function staticImports(
  metafile: Metafile,
  imports: Metafile["outputs"][string]["imports"],
  found = new Set<string>(),
): string[] {
  for (const { path, kind } of imports) {
    if (kind !== "import-statement" || found.has(basename(path))) continue;
    found.add(basename(path));
    staticImports(metafile, metafile.outputs[path]?.imports ?? [], found);
  }
  return [...found];
}
