/**
 * Unpacks archives into a folder that only the server writes to. Links are made after all files are written, and only those
 * that stay inside the unpacked archive. Everything streams and is counted.
 */
import { constants, createReadStream } from "node:fs";
import { link, lstat, mkdir, open, rm, symlink } from "node:fs/promises";
import type { FileHandle } from "node:fs/promises";
import { join } from "node:path";
import { pipeline } from "node:stream/promises";
import { createGunzip } from "node:zlib";
import { configure, Reader, ZipReader } from "@zip.js/zip.js";
import { invalid } from "../base/problem.ts";
import { namesOf } from "../platform/files/place.ts";
import { inSharedTurns } from "../platform/turns.ts";
import type { Budget } from "./budget.ts";
import { InflateStream } from "./inflate_stream.ts";
import { readTar } from "./tar_reader.ts";

const { O_CREAT, O_EXCL, O_NOFOLLOW, O_WRONLY } = constants;
/** Longest text of a link that Linux takes. */
const MAX_TARGET_BYTES = 4_096;
/** Most bytes of a zip that are read in one piece, as its directory is. */
const MAX_ZIP_PIECE_BYTES = 64 * 1024 * 1024;
/** Packed bytes of a zip that are unpacked together: to a thousand times as many, before any of these are written. */
const ZIP_PIECE_BYTES = 16 * 1024;
/** File type bits of a zip entry's mode. */
const TYPE_BITS = 0o170000;
const LINK_BITS = 0o120000;
const FILE_BITS = 0o100000;
/** All unpacking shares its turns of the event loop. */
const LANE = "archives";

export interface UnpackOptions {
  /** "as they are" lets links leave the archive, for what is only packed again. @default they are refused */
  links?: "as they are";
  /** Checks the budget after what was counted without any byte of the archive. */
  check?: () => void;
  /** Ends it: what is small and packed well may take long. */
  signal?: AbortSignal | undefined;
}

/** What there is of an archive, until nobody waits for it. Much that needs no disk may be ready at once. */
async function* piecesOf<T>(
  source: AsyncIterable<T>,
  signal: AbortSignal | undefined,
): AsyncGenerator<T> {
  for await (const piece of inSharedTurns(source, LANE)) {
    signal?.throwIfAborted();
    yield piece;
  }
}

/** Unpacks a tar as it comes. Entries that are no file, folder or link are left out. */
export async function unpackTar(
  content: AsyncIterable<Uint8Array>,
  folder: string,
  budget: Budget,
  { links, check, signal }: UnpackOptions = {},
): Promise<void> {
  const tree = new UnpackedTree(folder);
  const pieces = piecesOf(budget.count(content), signal);
  for await (const { type, name, target, mode, mtime, size, holes, body } of readTar(pieces)) {
    budget.takeEntry();
    budget.expect(type === "file" ? size : 0);
    if (holes > 0) {
      budget.take(holes);
      check?.();
    }
    if (type === "folder") await tree.folder(name, mode);
    else if (type === "link") tree.link(name, target);
    else if (type === "hard link") tree.hardLink(name, target);
    else if (type === "file") await tree.file(name, mode, mtime, body);
  }
  await tree.finish(links === undefined);
}

/** Unpacks a gzipped tar. */
export async function unpackTarGz(
  file: string,
  folder: string,
  budget: Budget,
  signal?: AbortSignal,
): Promise<void> {
  const source = createReadStream(file);
  const gunzip = createGunzip();
  // The reader of the second stream gets the error.
  pipeline(source, gunzip).catch(() => {});
  try {
    const check = () => budget.checkRatio(source.bytesRead);
    await unpackTar(checked(gunzip, check), folder, budget, { check, signal });
  } finally {
    gunzip.destroy();
    source.destroy();
  }
}

async function* checked(
  body: AsyncIterable<Uint8Array>,
  check: () => void,
): AsyncGenerator<Uint8Array> {
  for await (const chunk of body) {
    check();
    yield chunk;
  }
}

/** Unpacks a zip. */
export async function unpackZip(
  file: string,
  folder: string,
  budget: Budget,
  signal?: AbortSignal,
): Promise<void> {
  configure({
    useWebWorkers: false,
    chunkSize: ZIP_PIECE_BYTES,
    DecompressionStream: InflateStream,
  });
  const tree = new UnpackedTree(folder);
  const handle = await open(file);
  const { size } = await handle.stat();
  const reader = new ZipReader(new FileReader(handle, size));
  const check = () => budget.checkRatio(size);
  try {
    for await (const entry of piecesOf(reader.getEntriesGenerator(), signal)) {
      budget.takeEntry();
      if (entry.directory) {
        await tree.folder(entry.filename, undefined);
        continue;
      }
      budget.expect(entry.uncompressedSize);
      const { readable, writable } = new TransformStream<Uint8Array, Uint8Array>();
      const reading = entry.getData(writable);
      // The reader of the stream gets the error, too.
      reading.catch((error) => writable.abort(error).catch(() => {}));
      const body = checked(piecesOf(budget.count(readable), signal), check);
      const mode = entry.externalFileAttributes >>> 16;
      const type = mode & TYPE_BITS;
      try {
        if (type === LINK_BITS) tree.link(entry.filename, await readTarget(body));
        else if (type === 0 || type === FILE_BITS) {
          const bits = (mode & 0o777) === 0 ? undefined : mode;
          await tree.file(entry.filename, bits, entry.lastModDate, body);
        } else for await (const _ of body);
      } finally {
        // When nothing was read, the writer would wait for ever.
        if (!readable.locked) await readable.cancel().catch(() => {});
      }
      await reading;
    }
    await tree.finish(true);
  } finally {
    await reader.close();
    await handle.close();
  }
}

async function readTarget(body: AsyncIterable<Uint8Array>): Promise<string> {
  const parts: Uint8Array[] = [];
  let bytes = 0;
  for await (const part of body) {
    bytes += part.length;
    if (bytes > MAX_TARGET_BYTES) throw invalid("The archive has a link with too long a text");
    parts.push(part);
  }
  return Buffer.concat(parts).toString("utf8");
}

/** Random access to a zip file. */
class FileReader extends Reader<void> {
  readonly #handle: FileHandle;

  constructor(handle: FileHandle, size: number) {
    super();
    this.#handle = handle;
    this.size = size;
  }

  override async readUint8Array(index: number, length: number): Promise<Uint8Array> {
    const wanted = Math.min(length, Math.max(0, this.size - index));
    if (wanted > MAX_ZIP_PIECE_BYTES) throw invalid("The zip has a directory that is too large");
    const bytes = new Uint8Array(wanted);
    const { bytesRead } = await this.#handle.read(bytes, 0, bytes.length, index);
    return bytes.subarray(0, bytesRead);
  }
}

interface WantedLink {
  names: string[];
  target: string;
}

/** What an archive becomes on the disk. */
class UnpackedTree {
  readonly #root: string;
  readonly #folders = new Set<string>([""]);
  readonly #tops = new Set<string>();
  /** By their paths: the later of two links counts. */
  readonly #links = new Map<string, WantedLink>();
  readonly #hardLinks = new Map<string, WantedLink>();

  constructor(root: string) {
    this.#root = root;
  }

  #enter(name: string): string[] {
    const names = namesOf(name);
    if (names[0] !== undefined) this.#tops.add(names[0]);
    return names;
  }

  #at(names: readonly string[]): string {
    return join(this.#root, ...names);
  }

  async folder(name: string, mode: number | undefined): Promise<void> {
    const names = this.#enter(name);
    await this.#makeFolder(names, mode);
  }

  async #makeFolder(names: readonly string[], mode?: number): Promise<void> {
    const key = names.join("/");
    if (this.#folders.has(key)) return;
    await this.#makeFolder(names.slice(0, -1));
    // Writable for us until all is unpacked.
    await mkdir(this.#at(names), { mode: ((mode ?? 0o755) & 0o777) | 0o700 }).catch((error) => {
      throw error.code === "EEXIST" ? twice(names) : error;
    });
    this.#folders.add(key);
  }

  async file(
    name: string,
    mode: number | undefined,
    mtime: Date | undefined,
    body: AsyncIterable<Uint8Array>,
  ): Promise<void> {
    const names = this.#enter(name);
    if (names.length === 0) throw invalid("The archive has a file without a name");
    await this.#makeFolder(names.slice(0, -1));
    const path = this.#at(names);
    // The later of two files counts. A folder is not removed here, and is refused below.
    await rm(path, { force: true }).catch(() => {});
    const file = await open(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, 0o600)
      .catch((error) => {
        throw error.code === "EEXIST" ? twice(names) : error;
      });
    try {
      for await (const chunk of body) await file.writeFile(chunk);
      // Without the bits that let a program run with another user's rights.
      await file.chmod((mode ?? 0o644) & 0o777);
      if (mtime !== undefined) await file.utimes(mtime, mtime);
    } finally {
      await file.close();
    }
  }

  link(name: string, target: string): void {
    const names = this.#enter(name);
    this.#links.set(names.join("/"), { names, target });
  }

  hardLink(name: string, target: string): void {
    const names = this.#enter(name);
    this.#hardLinks.set(names.join("/"), { names, target });
  }

  /** Makes the links. */
  async finish(onlyInside: boolean): Promise<void> {
    for (const [path, { names, target }] of this.#hardLinks) {
      const same = this.#links.get(namesOf(target).join("/"));
      if (same !== undefined) {
        this.#links.set(path, { names, target: same.target });
        continue;
      }
      const from = this.#at(namesOf(target));
      if (!await lstat(from).then((found) => found.isFile(), () => false)) {
        throw invalid(
          `Archive entry "${names.join("/")}" links to "${target}", which is not a file`,
        );
      }
      await this.#make(names, (path) => link(from, path));
    }
    // An archive with one entry at the top becomes that entry.
    const base = this.#tops.size === 1 ? 1 : 0;
    for (const { names, target } of this.#links.values()) {
      if (onlyInside && !staysInside(target, names.length - 1 - base)) {
        throw invalid(
          `Archive entry "${names.join("/")}" is a link that leaves the archive: "${target}"`,
        );
      }
      await this.#make(names, (path) => symlink(target, path));
    }
  }

  async #make(names: readonly string[], act: (path: string) => Promise<void>): Promise<void> {
    await this.#makeFolder(names.slice(0, -1));
    await act(this.#at(names)).catch((error) => {
      throw error.code === "EEXIST" ? twice(names) : error;
    });
  }
}

/**
 * True when a link can only lead inside. It may go up first, as far as its own folder is deep, and then down by names. It may
 * not go up after a name: that name may be another link.
 */
function staysInside(target: string, depth: number): boolean {
  if (target === "" || target.startsWith("/") || target.includes("\0")) return false;
  const names = target.split("/").filter((name) => name !== "" && name !== ".");
  const ups = names.findIndex((name) => name !== "..");
  const count = ups < 0 ? names.length : ups;
  return count <= depth && !names.slice(count).includes("..");
}

function twice(names: readonly string[]): Error {
  return invalid(`Archive entry "${names.join("/")}" stands where another one is`);
}
