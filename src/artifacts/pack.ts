/**
 * Archives of artifacts. Everything streams. What is unpacked stays below its folder: entries that point elsewhere are
 * refused by the tar reader and by the zip reader here.
 */
import { createWriteStream } from "node:fs";
import { chmod, lstat, mkdir, open, readdir, rename, rm, stat } from "node:fs/promises";
import { basename, dirname, join, resolve, sep } from "node:path";
import { Readable, Writable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { createGunzip, createGzip } from "node:zlib";
import { configure, Reader, ZipReader, ZipWriter } from "@zip.js/zip.js";
import { packTar, unpackTar } from "modern-tar/fs";
import { invalid } from "../base/problem.ts";
import type { Artifact } from "../spec/manifest.ts";
import { readFileStream } from "./file_stream.ts";

export type ArchiveMode =
  | { type: "none" }
  | { type: "zip" }
  /** gzip level 0…9; absent: the library's own, 6. */
  | { type: "tar"; level?: number };

/** How an artifact is packed: as it says, else tar and gzip. */
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

/** The file or folder as a gzipped tar with one entry at its top, named like it. */
export async function packTarGz(path: string, level?: number): Promise<Readable> {
  const source = { source: path, target: basename(path) };
  const found = await stat(path);
  const tar = packTar([
    found.isDirectory() ? { type: "directory", ...source } : { type: "file", ...source },
  ]);
  const gzip = createGzip(level === undefined ? {} : { level });
  tar.on("error", (error) => gzip.destroy(error));
  return tar.pipe(gzip);
}

/** The file or folder as a zip with one entry at its top, named like it. */
export function packZip(path: string): Readable {
  configure({ useWebWorkers: false });
  const { readable, writable } = new TransformStream<Uint8Array, Uint8Array>();
  const writer = new ZipWriter(writable);
  const add = async (file: string, name: string): Promise<void> => {
    const found = await stat(file);
    const options = { lastModDate: found.mtime, unixMode: found.mode };
    if (!found.isDirectory()) {
      await writer.add(name, webFrom(readFileStream(file)), options);
      return;
    }
    await writer.add(`${name}/`, undefined, { ...options, directory: true });
    for (const child of (await readdir(file)).sort()) {
      await add(join(file, child), `${name}/${child}`);
    }
  };
  const done = add(path, basename(path)).then(() => writer.close());
  const stream = Readable.fromWeb(readable as Parameters<typeof Readable.fromWeb>[0]);
  done.catch((error) => stream.destroy(error));
  return stream;
}

/** True for a gzipped tar. */
export async function isTarGz(path: string): Promise<boolean> {
  const file = await open(path);
  try {
    const { bytesRead, buffer } = await file.read(Buffer.alloc(2), 0, 2, 0);
    if (bytesRead < 2 || buffer[0] !== 0x1f || buffer[1] !== 0x8b) return false;
  } finally {
    await file.close();
  }
  const source = readFileStream(path);
  const gunzip = source.pipe(createGunzip());
  const parts: Buffer[] = [];
  try {
    for await (const chunk of gunzip) {
      parts.push(chunk as Buffer);
      if (parts.reduce((sum, part) => sum + part.length, 0) >= 512) break;
    }
  } catch {
    return false;
  } finally {
    source.destroy();
  }
  return isTarHeader(Buffer.concat(parts).subarray(0, 512));
}

/** The header's own sum decides, so that old formats count too. An archive of nothing begins with zeros. */
function isTarHeader(header: Buffer): boolean {
  if (header.length < 512) return false;
  if (header.every((byte) => byte === 0)) return true;
  const stored = Number.parseInt(header.toString("latin1", 148, 156), 8);
  let sum = 0;
  for (const [index, byte] of header.entries()) sum += index >= 148 && index < 156 ? 32 : byte;
  return sum === stored;
}

/**
 * Brings a stored file to `path`, unpacked as the artifact says: without a word a gzipped tar is unpacked, anything else
 * moved. An archive with one entry at its top becomes that entry, else a folder.
 */
export async function placeFile(file: string, path: string, artifact: Artifact): Promise<void> {
  const { none, zip, tar } = artifact.archive ?? {};
  await mkdir(dirname(path), { recursive: true });
  if (none === undefined && zip !== undefined) await unpackTo(path, (to) => unzip(file, to));
  else if (none === undefined && (tar !== undefined || await isTarGz(file))) {
    await unpackTo(
      path,
      (to) => pipeline(readFileStream(file), createGunzip(), unpackTar(to)),
    );
  } else {
    await rm(path, { recursive: true, force: true });
    await rename(file, path);
    return;
  }
  await rm(file, { force: true });
}

async function unpackTo(path: string, unpack: (folder: string) => Promise<void>): Promise<void> {
  const folder = `${path}.tmpdir`;
  await rm(folder, { recursive: true, force: true });
  await mkdir(folder, { recursive: true });
  await unpack(folder);
  const entries = await readdir(folder);
  const only = entries.length === 1 ? entries[0] : undefined;
  await rm(path, { recursive: true, force: true });
  await rename(only === undefined ? folder : join(folder, only), path);
  await rm(folder, { recursive: true, force: true });
}

async function unzip(file: string, folder: string): Promise<void> {
  configure({ useWebWorkers: false });
  const handle = await open(file);
  const reader = new ZipReader(new FileReader(handle, (await handle.stat()).size));
  try {
    for await (const entry of reader.getEntriesGenerator()) {
      const path = resolve(folder, entry.filename);
      if (!path.startsWith(folder + sep)) {
        throw invalid(`Zip entry "${entry.filename}" lies outside the archive`);
      }
      if (entry.directory) {
        await mkdir(path, { recursive: true });
        continue;
      }
      await mkdir(dirname(path), { recursive: true });
      await entry.getData(Writable.toWeb(createWriteStream(path)));
      const mode = (entry.externalFileAttributes >>> 16) & 0o777;
      if (mode !== 0) await chmod(path, mode);
    }
  } finally {
    await reader.close();
    await handle.close();
  }
}

/** Random access to a zip file. */
class FileReader extends Reader<void> {
  readonly #handle: Awaited<ReturnType<typeof open>>;

  constructor(handle: Awaited<ReturnType<typeof open>>, size: number) {
    super();
    this.#handle = handle;
    this.size = size;
  }

  override async readUint8Array(index: number, length: number): Promise<Uint8Array> {
    const bytes = new Uint8Array(Math.min(length, Math.max(0, this.size - index)));
    const { bytesRead } = await this.#handle.read(bytes, 0, bytes.length, index);
    return bytes.subarray(0, bytesRead);
  }
}

/** Sets the mode of what was placed; of everything in it when asked for. */
export async function applyMode(path: string, artifact: Artifact): Promise<void> {
  if (artifact.mode === undefined) return;
  if (artifact.recurseMode === true && (await lstat(path)).isDirectory()) {
    for (const entry of await readdir(path, { recursive: true, withFileTypes: true })) {
      if (!entry.isSymbolicLink()) await chmod(join(entry.parentPath, entry.name), artifact.mode);
    }
  }
  await chmod(path, artifact.mode);
}

function webFrom(stream: Readable): ReadableStream<Uint8Array> {
  return Readable.toWeb(stream) as unknown as ReadableStream<Uint8Array>;
}
