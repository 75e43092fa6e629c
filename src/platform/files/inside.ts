/** Single files and folders below a root. Links are never followed, see `opened_folder.ts`. */
import { execFile } from "node:child_process";
import { randomUUID } from "node:crypto";
import { constants } from "node:fs";
import { chmod, type FileHandle, lstat, open, readlink, rename, rm, rmdir } from "node:fs/promises";
import { pipeline } from "node:stream/promises";
import { promisify } from "node:util";
import { invalid } from "../../base/problem.ts";
import { namesIn } from "./folder_entries.ts";
import { codeOf, isMissing, OpenedFolder, within } from "./opened_folder.ts";
import { isUnreadable, LinkInPath, MAX_DEPTH, namesOf, type Place } from "./place.ts";

const { O_APPEND, O_CREAT, O_EXCL, O_NOFOLLOW, O_NONBLOCK, O_RDONLY, O_WRONLY } = constants;

/** How the names of unfinished files begin. */
export const UNFINISHED = ".partial-";

export type FoundKind = "file" | "folder" | "other";

export interface Found {
  kind: FoundKind;
  /** Bytes. */
  size: number;
  mtimeMs: number;
}

/**
 * What is at a place; undefined when nothing is.
 *
 * @throws {LinkInPath} when it is a link, or a link is on the way.
 */
export async function findInside(place: Place): Promise<Found | undefined> {
  const names = namesOf(place.path);
  try {
    return await within(place, async (folder, name) => {
      const found = await lstat(folder.at(name));
      if (found.isSymbolicLink()) {
        throw new LinkInPath(names, names.length - 1, await readlink(folder.at(name)));
      }
      const kind = found.isFile() ? "file" : found.isDirectory() ? "folder" : "other";
      return { kind, size: found.size, mtimeMs: found.mtimeMs };
    });
  } catch (error) {
    if (isMissing(error)) return undefined;
    throw error;
  }
}

/**
 * Opens a file for reading.
 *
 * @throws {Problem} when it is no regular file (a pipe would never end), {LinkInPath}, {Error} with ENOENT.
 */
export function openInside(place: Place): Promise<FileHandle> {
  return within(place, (folder, name) => openRegular(folder.at(name), place.path));
}

/** Opens a regular file. @param shown how messages call it */
export async function openRegular(path: string, shown: string): Promise<FileHandle> {
  const file = await open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK);
  try {
    if ((await file.stat()).isFile()) return file;
    throw invalid(`"${shown}" is not a file`);
  } catch (error) {
    await file.close();
    throw error;
  }
}

/** The last `maxBytes` bytes of a file; empty when there is no file. */
export async function readTailInside(place: Place, maxBytes: number): Promise<Buffer> {
  const file = await openInside(place).catch(() => undefined);
  if (file === undefined) return Buffer.alloc(0);
  try {
    const { size } = await file.stat();
    return await readSome(file, Math.min(size, maxBytes), Math.max(0, size - maxBytes));
  } finally {
    await file.close();
  }
}

/**
 * The text of a file.
 *
 * @throws {Problem} when it has more bytes than allowed; what `openInside` throws.
 */
export async function readTextInside(place: Place, maxBytes: number): Promise<string> {
  const file = await openInside(place);
  try {
    const { size } = await file.stat();
    // One byte more than allowed: the file may grow meanwhile, and some files show no size.
    const bytes = size > maxBytes ? undefined : await readSome(file, maxBytes + 1, 0);
    if (bytes !== undefined && bytes.length <= maxBytes) return bytes.toString("utf8");
    throw invalid(`"${place.path}" has ${size} bytes, at most ${maxBytes} fit`);
  } finally {
    await file.close();
  }
}

async function readSome(file: FileHandle, length: number, position: number): Promise<Buffer> {
  const parts: Buffer[] = [];
  for (let read = 0; read < length;) {
    const chunk = Buffer.alloc(Math.min(length - read, 64 * 1024));
    const { bytesRead } = await file.read(chunk, 0, chunk.length, position + read);
    if (bytesRead === 0) break;
    parts.push(chunk.subarray(0, bytesRead));
    read += bytesRead;
  }
  return Buffer.concat(parts);
}

/** Content of a file: whole, or in pieces as they come. */
export type Content = string | Uint8Array | AsyncIterable<Uint8Array>;

/**
 * Writes a file at once: others see all of it or nothing. It replaces what was there; of a link the link itself, not what
 * it points to. Missing folders are made.
 */
export function writeInside(
  place: Place,
  content: Content,
  { mode = 0o644, folderMode = 0o755 }: { mode?: number; folderMode?: number } = {},
): Promise<void> {
  return within(place, async (folder, name) => {
    const fresh = folder.at(`${UNFINISHED}${randomUUID()}`);
    const file = await open(fresh, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, 0o600);
    try {
      await file.chmod(mode);
      if (typeof content === "string" || content instanceof Uint8Array) {
        await file.writeFile(content);
        await file.close();
      } else {
        await pipeline(content, file.createWriteStream());
      }
      await rename(fresh, folder.at(name));
    } catch (error) {
      await file.close().catch(() => {});
      await rm(fresh, { force: true });
      throw error;
    }
  }, folderMode);
}

/** Appends to a file, which is made if it is missing. */
export function appendInside(place: Place, text: string): Promise<void> {
  return within(place, async (folder, name) => {
    const flags = O_WRONLY | O_CREAT | O_APPEND | O_NOFOLLOW | O_NONBLOCK;
    const file = await open(folder.at(name), flags, 0o644);
    try {
      if (!(await file.stat()).isFile()) throw invalid(`"${place.path}" is not a file`);
      await file.writeFile(text);
    } finally {
      await file.close();
    }
  });
}

/** Makes a folder and those above it. One that exists stays as it is. */
export function makeFolderInside(place: Place, mode = 0o755): Promise<void> {
  return within({ ...place, path: `${place.path}/x` }, () => Promise.resolve(), mode);
}

/** Removes a file, a link, or a folder with all that is in it. It may be missing. */
export async function removeInside(place: Place): Promise<void> {
  if (namesOf(place.path).length === 0) throw new Error("A root itself is not removed by this");
  try {
    await within(place, (folder, name) => removeEntry(folder, name));
  } catch (error) {
    if (!isMissing(error)) throw error;
  }
}

async function removeEntry(folder: OpenedFolder, name: string, depth = 0): Promise<void> {
  const at = folder.at(name);
  // Repeated because others may still write there.
  for (let tries = 0;; tries++) {
    const found = await lstat(at);
    if (!found.isDirectory()) return await rm(at, { force: true });
    const opened = await OpenedFolder.open(at).catch(async (error) => {
      // Its owner may have locked it.
      if (codeOf(error) !== "EACCES") throw error;
      await chmod(at, 0o700);
      return await OpenedFolder.open(at);
    });
    try {
      const children = depth < MAX_DEPTH ? await namesIn(opened.address) : [];
      for (const child of children) {
        await removeEntry(opened, child, depth + 1).catch(unlessMissing);
      }
      if (depth === MAX_DEPTH || children.some(isUnreadable)) await removeRest(opened);
    } finally {
      await opened.close();
    }
    try {
      return await rmdir(at);
    } catch (error) {
      if (codeOf(error) !== "ENOTEMPTY" || tries === 3) throw error;
    }
  }
}

/** Somebody else was faster. */
function unlessMissing(error: unknown): void {
  if (!isMissing(error)) throw error;
}

/**
 * Removes what is left in a folder by a program that has the names as they are, and needs no descriptor for each level. It
 * follows no link, as what is above.
 */
async function removeRest({ address }: OpenedFolder): Promise<void> {
  const find = promisify(execFile)("find", [".", "-mindepth", "1", "-delete"], { cwd: address });
  // What stays is found when the folder itself is to go.
  await find.catch(() => {});
}
