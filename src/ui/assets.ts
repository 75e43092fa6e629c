/** The built scripts and styles: found in the package, or built from source when a page is first asked for. */
import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { gzip } from "node:zlib";
import type { Logger } from "../platform/log.ts";

/** Where a package has them. */
const PACKAGED = join(import.meta.dirname, "../../dist/ui");
/** Lists the files of a build; written last, so a folder that has it is complete. */
export const INDEX_FILE = "index.json";

const TYPES: Record<string, string> = {
  js: "text/javascript; charset=utf-8",
  css: "text/css; charset=utf-8",
  svg: "image/svg+xml",
};

/** What the index of a build says. */
export interface BuildIndex {
  script: string;
  /** Scripts that the first one needs at once. */
  preloads: string[];
  style: string;
  /** The worker that lays out graphs. */
  worker: string;
  icon: string;
}

interface Asset {
  type: string;
  plain: Uint8Array<ArrayBuffer>;
  zipped: Uint8Array<ArrayBuffer>;
}

export interface BuiltAssets extends BuildIndex {
  files: ReadonlyMap<string, Asset>;
}

/** Resolves to undefined when there are none and they can't be built here. */
export type AssetSource = () => Promise<BuiltAssets | undefined>;

/** Finds or builds the assets when they are first asked for, and keeps them. */
export function createAssetSource(log: Logger): AssetSource {
  let found: Promise<BuiltAssets | undefined> | undefined;
  return () => found ??= findAssets(log);
}

async function findAssets(log: Logger): Promise<BuiltAssets | undefined> {
  const packaged = await readAssets(PACKAGED).catch(() => undefined);
  if (packaged !== undefined) return packaged;
  try {
    const { buildInCache } = await import("./build.ts");
    return await readAssets(await buildInCache());
  } catch (cause) {
    log.error({ err: cause }, "the pages cannot be built; deno run -A tools/build_ui.ts says why");
    return undefined;
  }
}

/** Reads a build. @throws when the folder has none */
async function readAssets(folder: string): Promise<BuiltAssets> {
  const index = JSON.parse(await readFile(join(folder, INDEX_FILE), "utf8")) as BuildIndex;
  const names = (await readdir(folder)).filter((name) => typeOf(name) !== undefined);
  const files = await Promise.all(names.map(async (name): Promise<[string, Asset]> => {
    const plain = new Uint8Array(await readFile(join(folder, name)));
    const zipped = new Uint8Array(await promisify(gzip)(plain, { level: 9 }));
    return [name, { type: typeOf(name) ?? "", plain, zipped }];
  }));
  return { ...index, files: new Map(files) };
}

function typeOf(name: string): string | undefined {
  return TYPES[name.slice(name.lastIndexOf(".") + 1)];
}

/** Sends an asset. Its name has a hash of its content, so browsers keep it for good. */
export function serveAsset({ type, plain, zipped }: Asset, asked: Headers): Response {
  const isZipped = /\bgzip\b/.test(asked.get("accept-encoding") ?? "");
  const body = isZipped ? zipped : plain;
  return new Response(body, {
    headers: {
      "content-type": type,
      "content-length": String(body.length),
      "cache-control": "public, max-age=31536000, immutable",
      vary: "accept-encoding",
      ...(isZipped && { "content-encoding": "gzip" }),
    },
  });
}
