/** Packs artifacts as archives, and places stored files. Everything streams. */
import { mkdir, open, rm } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { createGunzip, createGzip } from "node:zlib";
import { configure, TextReader, ZipWriter } from "@zip.js/zip.js";
import { createTarPacker } from "modern-tar";
import { invalid } from "../base/problem.ts";
import { namesIn } from "../platform/files/folder_entries.ts";
import { removeInside } from "../platform/files/inside.ts";
import { type Place, trustedPlace } from "../platform/files/place.ts";
import { moveInside, type TreeEntry, walkInside } from "../platform/files/tree.ts";
import type { Artifact } from "../spec/manifest.ts";
import type { Budget } from "./budget.ts";
import { webStream } from "../platform/web_stream.ts";
import { readFileStream, toldToReader } from "./file_stream.ts";
import { unpackTarGz, unpackZip } from "./unpack.ts";

const CHUNK_BYTES = 256 * 1024;

export type ArchiveMode =
  | { type: "none" }
  | { type: "zip" }
  /** Level of gzip, 0…9. @default {6} */
  | { type: "tar"; level?: number };

/** How an artifact is packed: as it says, else as a gzipped tar. */
export function archiveMode(artifact: Artifact): ArchiveMode {
  const { none, zip, tar } = artifact.archive ?? {};
  if (none !== undefined) return { type: "none" };
  if (zip !== undefined) return { type: "zip" };
  const level = tar?.compressionLevel;
  return { type: "tar", ...(level !== undefined && { level: Math.min(9, Math.max(-1, level)) }) };
}

/** File name of an artifact in its repository. */
export function archiveName(artifact: Artifact, path: string): string {
  switch (archiveMode(artifact).type) {
    case "none":
      return basename(path);
    case "zip":
      return `${artifact.name}.zip`;
    case "tar":
      return `${artifact.name}.tgz`;
  }
}

/** The file or folder as a gzipped tar with one entry at the top. Links are packed as links. */
export function packTarGz(source: Place, name: string, budget: Budget, level?: number): Readable {
  const gzip = createGzip(level === undefined ? {} : { level });
  // The reader of the second stream gets the error.
  pipeline(packTar(source, name, budget), gzip).catch(() => {});
  return toldToReader(gzip);
}

/** The same, not gzipped. */
export function packTar(source: Place, name: string, budget: Budget): Readable {
  const { readable, controller } = createTarPacker();
  const pack = async () => {
    for await (const entry of entriesOf(source, budget)) {
      const { kind, path } = entry;
      const target = path === "" ? name : `${name}/${path}`;
      // The format has no earlier times, and the library writes what no program can read.
      const mtime = new Date(Math.max(0, entry.mtime.getTime()));
      const writer = controller.add(
        kind === "folder"
          ? { name: `${target}/`, type: "directory", size: 0, mode: entry.mode, mtime }
          : kind === "link"
          ? { name: target, type: "symlink", size: 0, linkname: entry.target, mtime }
          : { name: target, type: "file", size: entry.size, mode: entry.mode, mtime },
      ).getWriter();
      if (kind === "file") {
        for await (const chunk of contentOf(entry)) await writer.write(chunk);
      }
      await writer.close();
    }
    controller.finalize();
  };
  const stream = Readable.fromWeb(readable as Parameters<typeof Readable.fromWeb>[0]);
  pack().catch((error) => stream.destroy(error));
  return toldToReader(stream);
}

/** The file or folder as a zip with one entry at the top. Links are packed as links. */
export function packZip(source: Place, name: string, budget: Budget): Readable {
  configure({ useWebWorkers: false });
  const { readable, writable } = new TransformStream<Uint8Array, Uint8Array>();
  const writer = new ZipWriter(writable);
  const pack = async () => {
    for await (const entry of entriesOf(source, budget)) {
      const target = entry.path === "" ? name : `${name}/${entry.path}`;
      const lastModDate = entry.mtime;
      if (entry.kind === "folder") {
        const unixMode = 0o040000 | entry.mode;
        await writer.add(`${target}/`, undefined, { lastModDate, unixMode, directory: true });
      } else if (entry.kind === "link") {
        const options = { lastModDate, unixMode: 0o120777 };
        await writer.add(target, new TextReader(entry.target), options);
      } else {
        const body = webStream(contentOf(entry));
        await writer.add(target, body, { lastModDate, unixMode: 0o100000 | entry.mode });
      }
    }
    await writer.close();
  };
  const stream = Readable.fromWeb(readable as Parameters<typeof Readable.fromWeb>[0]);
  pack().catch((error) => stream.destroy(error));
  return toldToReader(stream);
}

/** Every file of a folder, unpacked. Read each before the next is asked for. Links are left out. */
export async function* filesInside(
  source: Place,
  budget: Budget,
): AsyncGenerator<{ path: string; body: Readable }> {
  for await (const entry of entriesOf(source, budget)) {
    if (entry.kind === "file") {
      yield {
        path: entry.path,
        body: toldToReader(Readable.from(contentOf(entry), { objectMode: false })),
      };
    }
  }
}

async function* entriesOf(source: Place, budget: Budget): AsyncGenerator<TreeEntry> {
  let isEmpty = true;
  for await (const entry of walkInside(source)) {
    isEmpty = false;
    budget.takeEntry();
    if (entry.kind === "file") budget.take(entry.size);
    yield entry;
  }
  if (isEmpty) throw invalid(`"${source.path}" is neither a file nor a folder`);
}

/** The content of a file, as long as it was when it was found: its size has been written already. */
async function* contentOf(
  { path, size, open }: Extract<TreeEntry, { kind: "file" }>,
): AsyncGenerator<Uint8Array> {
  const file = await open();
  try {
    for (let position = 0; position < size;) {
      const chunk = Buffer.alloc(Math.min(CHUNK_BYTES, size - position));
      const { bytesRead } = await file.read(chunk, 0, chunk.length, position);
      if (bytesRead === 0) throw new Error(`"${path}" became shorter while it was read`);
      position += bytesRead;
      yield chunk.subarray(0, bytesRead);
    }
  } finally {
    await file.close();
  }
}

/** True for a gzipped tar. */
async function isTarGz(path: string): Promise<boolean> {
  const file = await open(path);
  try {
    const { bytesRead, buffer } = await file.read(Buffer.alloc(2), 0, 2, 0);
    if (bytesRead < 2 || buffer[0] !== 0x1f || buffer[1] !== 0x8b) return false;
  } finally {
    await file.close();
  }
  const source = readFileStream(path);
  const gunzip = source.pipe(createGunzip());
  let unreadable: Error | undefined;
  // `pipe` passes on no error: whoever reads the second stream would wait for ever.
  source.once("error", (error) => {
    unreadable = error;
    gunzip.destroy(error);
  });
  const parts: Buffer[] = [];
  try {
    for await (const chunk of gunzip) {
      parts.push(chunk as Buffer);
      if (parts.reduce((sum, part) => sum + part.length, 0) >= 512) break;
    }
  } catch {
    // What can't be read is not known to be no archive.
    if (unreadable !== undefined) throw unreadable;
    return false;
  } finally {
    source.destroy();
  }
  return isTarHeader(Buffer.concat(parts).subarray(0, 512));
}

/** Tells a header by its checksum, which old formats have, too. An empty archive begins with zeros. */
function isTarHeader(header: Buffer): boolean {
  if (header.length < 512) return false;
  if (header.every((byte) => byte === 0)) return true;
  const stored = Number.parseInt(header.toString("latin1", 148, 156), 8);
  let sum = 0;
  for (const [index, byte] of header.entries()) sum += index >= 148 && index < 156 ? 32 : byte;
  return sum === stored;
}

/**
 * Brings a stored file to `path`, unpacked as the artifact says. When it says nothing, a gzipped tar is unpacked, and anything
 * else is moved. An archive with one entry at the top becomes that entry, any other a folder. Only the server writes where
 * `path` is.
 */
export async function placeFile(
  file: string,
  path: string,
  artifact: Artifact,
  budget: Budget,
  signal?: AbortSignal,
): Promise<void> {
  const { none, zip, tar } = artifact.archive ?? {};
  await mkdir(dirname(path), { recursive: true });
  if (none === undefined && zip !== undefined) {
    await unpackTo(path, (to) => unpackZip(file, to, budget, signal));
  } else if (none === undefined && (tar !== undefined || await isTarGz(file))) {
    await unpackTo(path, (to) => unpackTarGz(file, to, budget, signal));
  } else {
    await moveInside(file, trustedPlace(path));
    return;
  }
  await rm(file, { force: true });
}

async function unpackTo(path: string, unpack: (folder: string) => Promise<void>): Promise<void> {
  const folder = `${path}.tmpdir`;
  await removeInside(trustedPlace(folder));
  await mkdir(folder, { recursive: true });
  try {
    await unpack(folder);
    const entries = await namesIn(folder);
    const only = entries.length === 1 ? entries[0] : undefined;
    await moveInside(only === undefined ? folder : join(folder, only), trustedPlace(path));
  } finally {
    await removeInside(trustedPlace(folder));
  }
}
