/**
 * Paths inside a root, as `openat(2)` sees them: each folder on the way is opened by its name in the one before, links are
 * never followed, `..` is refused. So whoever may write below the root can't lead the server out of it.
 *
 * On Linux what is opened is addressed by its descriptor (`/proc/self/fd/N`): a folder that is exchanged for a link in the
 * middle of a call changes nothing. Elsewhere, or where `/proc` can't be read, it is addressed by its path: a link that is
 * there is found, one that is put there between two calls of the system is not.
 */
import { constants } from "node:fs";
import {
  chmod,
  lstat,
  mkdir,
  open,
  readdir,
  readlink,
  rename,
  rm,
  rmdir,
  symlink,
} from "node:fs/promises";
import type { FileHandle } from "node:fs/promises";
import { randomUUID } from "node:crypto";
import { basename, dirname, join } from "node:path";
import { pipeline } from "node:stream/promises";
import { invalid, Problem, ProblemCode } from "../base/problem.ts";

const { O_APPEND, O_CREAT, O_DIRECTORY, O_EXCL, O_NOFOLLOW, O_NONBLOCK, O_RDONLY, O_WRONLY } =
  constants;

/** Longest name that Linux's file systems take. */
const MAX_NAME_BYTES = 255;
/** Longest path that Linux takes in one call. */
const MAX_PATH_BYTES = 4_096;
/** Deeper trees are refused: each level holds a descriptor. */
const MAX_DEPTH = 128;

/** How the names of unfinished files begin. */
export const UNFINISHED = ".partial-";

/** Something below a root. */
export interface Place {
  /** Absolute. Trusted: links in it are followed. */
  root: string;
  /** Below the root, with slashes; empty for the root itself. Not trusted. */
  path: string;
}

/** The place of a path that is trusted as a whole, but for a link at its end. */
export function trustedPlace(path: string): Place {
  return { root: dirname(path), path: basename(path) };
}

/** Where a place would be on this machine. For messages and for what starts containers: nothing is opened by it here. */
export function placeText({ root, path }: Place): string {
  return join(root, path);
}

/** A link stands in the way. */
export class LinkInPath extends Problem {
  /** The link, below the root. */
  readonly link: string;
  /** What it says. */
  readonly target: string;
  /** Names that come after it in the wanted path. */
  readonly rest: readonly string[];

  constructor(parts: readonly string[], index: number, target: string) {
    const link = parts.slice(0, index + 1).join("/");
    super(
      ProblemCode.InvalidArgument,
      `"${link}" is a link to "${target}"; links are not followed here`,
    );
    this.name = "LinkInPath";
    this.link = link;
    this.target = target;
    this.rest = parts.slice(index + 1);
  }
}

/**
 * The names of a path below a root. A leading slash means the root.
 *
 * @throws {Problem} for `..`, for what no file system takes, and for a path that is too long or too deep.
 */
export function namesOf(path: string): string[] {
  const names = path.split("/").filter((name) => name !== "" && name !== ".");
  const wrong = names.includes("..")
    ? 'may not go up by ".."'
    : path.includes("\0")
    ? "has a NUL"
    : names.length > MAX_DEPTH
    ? `has more than ${MAX_DEPTH} levels`
    : Buffer.byteLength(path) > MAX_PATH_BYTES
    ? `has more than ${MAX_PATH_BYTES} bytes`
    : names.some((name) => Buffer.byteLength(name) > MAX_NAME_BYTES)
    ? `has a name of more than ${MAX_NAME_BYTES} bytes`
    : undefined;
  if (wrong === undefined) return names;
  const shown = path.length > 200 ? `${path.slice(0, 200)}…` : path;
  throw invalid(`Path ${JSON.stringify(shown)} ${wrong}`);
}

/** An opened folder. */
class Folder {
  readonly #handle: FileHandle;
  /** Path by which calls of the system reach this very folder while it is open. */
  readonly address: string;

  private constructor(handle: FileHandle, address: string) {
    this.#handle = handle;
    this.address = address;
  }

  /** Opens a folder by its path; a link at its end is followed when `isTrusted`. */
  static async open(path: string, isTrusted = false): Promise<Folder> {
    const handle = await open(path, O_RDONLY | O_DIRECTORY | (isTrusted ? 0 : O_NOFOLLOW));
    const address = await hasDescriptors(handle) ? `/proc/self/fd/${handle.fd}` : path;
    return new Folder(handle, address);
  }

  at(name: string): string {
    return `${this.address}/${name}`;
  }

  close(): Promise<void> {
    return this.#handle.close();
  }
}

let descriptors: Promise<boolean> | undefined;

/** True when a descriptor's number leads to what is open: found out once. */
function hasDescriptors(handle: FileHandle): Promise<boolean> {
  descriptors ??= (async () => {
    try {
      const [own, found] = await Promise.all([
        handle.stat({ bigint: true }),
        lstat(`/proc/self/fd/${handle.fd}/.`, { bigint: true }),
      ]);
      return own.ino === found.ino && own.dev === found.dev;
    } catch {
      return false;
    }
  })();
  return descriptors;
}

/** Does something with the last name of a path and the opened folder that it is in; missing folders are made with `make`. */
async function within<Result>(
  { root, path }: Place,
  act: (folder: Folder, name: string) => Promise<Result>,
  make?: number,
): Promise<Result> {
  const names = namesOf(path);
  const last = names.at(-1) ?? ".";
  let folder = await Folder.open(root, true);
  try {
    for (const index of names.slice(0, -1).keys()) {
      const next = await enter(folder, names, index, make);
      await folder.close();
      folder = next;
    }
    return await act(folder, last);
  } catch (error) {
    throw await explained(error, folder, names);
  } finally {
    await folder.close();
  }
}

async function enter(
  folder: Folder,
  names: readonly string[],
  index: number,
  make: number | undefined,
): Promise<Folder> {
  const name = names[index] ?? ".";
  const at = folder.at(name);
  if (make !== undefined) {
    const isNew = await mkdir(at).then(() => true, (error) => {
      if (codeOf(error) !== "EEXIST") throw error;
      return false;
    });
    if (isNew) await withFolder(at, (handle) => handle.chmod(make));
  }
  try {
    return await Folder.open(at);
  } catch (error) {
    const target = await readlink(at).catch(() => undefined);
    throw target === undefined ? error : new LinkInPath(names, index, target);
  }
}

async function withFolder(
  path: string,
  act: (handle: FileHandle) => Promise<unknown>,
): Promise<void> {
  const handle = await open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW);
  try {
    await act(handle);
  } finally {
    await handle.close();
  }
}

/** A failure of the last step, told without the server's own paths. */
async function explained(
  error: unknown,
  folder: Folder,
  names: readonly string[],
): Promise<unknown> {
  const code = codeOf(error);
  if (error instanceof Problem || code === undefined) return error;
  if (code === "ELOOP" || code === "EMLINK" || code === "ENOTDIR") {
    const target = await readlink(folder.at(names.at(-1) ?? ".")).catch(() => undefined);
    if (target !== undefined) return new LinkInPath(names, names.length - 1, target);
  }
  return Object.assign(new Error(`${code}: "${names.join("/")}"`, { cause: error }), { code });
}

function codeOf(error: unknown): string | undefined {
  return error instanceof Error && "code" in error && typeof error.code === "string"
    ? error.code
    : undefined;
}

function isMissing(error: unknown): boolean {
  const code = codeOf(error);
  return code === "ENOENT" || code === "ENOTDIR";
}

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

async function openRegular(path: string, shown: string): Promise<FileHandle> {
  const file = await open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK);
  try {
    if ((await file.stat()).isFile()) return file;
    throw invalid(`"${shown}" is not a file`);
  } catch (error) {
    await file.close();
    throw error;
  }
}

/**
 * The last bytes of a file, `maxBytes` of them at most; empty when there is none, or no file at its place.
 */
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
    // One more is asked for: a file may grow meanwhile, and some have no size.
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

/** Content of a file that is written: whole, or as it comes. */
export type Content = string | Uint8Array | AsyncIterable<Uint8Array>;

/**
 * Writes a file at once: others see all of it or nothing. What was there is replaced, a link itself rather than what it
 * points to. Missing folders are made, for everybody to write to when `folderMode` says so.
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

/** Adds to a file, which is made when it isn't there. */
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

/** Makes a folder and those above it; one that is there stays as it is. */
export function makeFolderInside(place: Place, mode = 0o755): Promise<void> {
  return within({ ...place, path: `${place.path}/x` }, () => Promise.resolve(), mode);
}

/** Removes what is at a place, a folder with all in it. Nothing there is fine. */
export async function removeInside(place: Place): Promise<void> {
  if (namesOf(place.path).length === 0) throw new Error("A root itself is not removed by this");
  try {
    await within(place, removeEntry);
  } catch (error) {
    if (!isMissing(error)) throw error;
  }
}

async function removeEntry(folder: Folder, name: string): Promise<void> {
  const at = folder.at(name);
  // Tried again: others may still write there.
  for (let tries = 0;; tries++) {
    const found = await lstat(at);
    if (!found.isDirectory()) return await rm(at, { force: true });
    const opened = await Folder.open(at).catch(async (error) => {
      // Its owner may have locked it.
      if (codeOf(error) !== "EACCES") throw error;
      await chmod(at, 0o700);
      return await Folder.open(at);
    });
    try {
      for (const child of await readdir(opened.address)) await removeEntry(opened, child);
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

/** One thing of a tree, below where the walk began; the beginning itself has the path "". */
export type TreeEntry =
  | { kind: "folder"; path: string; mode: number; mtime: Date }
  | {
    kind: "file";
    path: string;
    mode: number;
    mtime: Date;
    size: number;
    /** Opens it; only until the next entry is asked for. */
    open(): Promise<FileHandle>;
  }
  | { kind: "link"; path: string; target: string; mtime: Date };

/**
 * A file, or a folder with all in it, folders before what is in them, sorted. Links are told, not followed. What is neither
 * file, folder nor link (pipes, sockets, devices) is left out.
 *
 * @throws {LinkInPath} when the place itself is a link, or a link is on the way.
 */
export async function* walkInside(place: Place): AsyncGenerator<TreeEntry> {
  const names = namesOf(place.path);
  // The generator outlives the call, so it opens its way by itself.
  const folder = await within(place, (parent) => Folder.open(`${parent.address}/.`));
  try {
    const name = names.at(-1) ?? ".";
    if ((await lstat(folder.at(name))).isSymbolicLink()) {
      throw new LinkInPath(names, names.length - 1, await readlink(folder.at(name)));
    }
    yield* walkEntry(folder, name, "", 0);
  } finally {
    await folder.close();
  }
}

async function* walkEntry(
  folder: Folder,
  name: string,
  path: string,
  depth: number,
): AsyncGenerator<TreeEntry> {
  const at = folder.at(name);
  const found = await lstat(at);
  const { mtime } = found;
  const mode = found.mode & 0o777;
  if (found.isSymbolicLink()) yield { kind: "link", path, target: await readlink(at), mtime };
  if (found.isFile()) {
    const open = () => openRegular(at, path);
    yield { kind: "file", path, mode, mtime, size: found.size, open };
  }
  if (!found.isDirectory()) return;
  if (depth === MAX_DEPTH) throw invalid(`"${path}" has more than ${MAX_DEPTH} levels`);
  yield { kind: "folder", path, mode, mtime };
  const opened = await Folder.open(at);
  try {
    for (const child of (await readdir(opened.address)).sort()) {
      yield* walkEntry(opened, child, path === "" ? child : `${path}/${child}`, depth + 1);
    }
  } finally {
    await opened.close();
  }
}

/** Moves what the server made to a place, which it replaces. Missing folders are made. */
export async function moveInside(from: string, place: Place, folderMode = 0o755): Promise<void> {
  await removeInside(place);
  try {
    await within(place, (folder, name) => rename(from, folder.at(name)), folderMode);
  } catch (error) {
    if (codeOf(error) !== "EXDEV") throw error;
    await copyInside(trustedPlace(from), place, folderMode);
    await removeInside(trustedPlace(from));
  }
}

async function copyInside(from: Place, to: Place, folderMode: number): Promise<void> {
  for await (const entry of walkInside(from)) {
    const place = { root: to.root, path: entry.path === "" ? to.path : `${to.path}/${entry.path}` };
    if (entry.kind === "folder") await makeFolderInside(place, entry.mode | 0o700);
    else if (entry.kind === "link") {
      await within(place, (folder, name) => symlink(entry.target, folder.at(name)), folderMode);
    } else {
      const file = await entry.open();
      await writeInside(place, file.createReadStream(), { mode: entry.mode, folderMode });
    }
  }
}

/** Sets the mode of a file or folder, and of all in it when asked for. Links stay as they are. */
export async function chmodInside(place: Place, mode: number, recursive: boolean): Promise<void> {
  const folders: string[] = [];
  const set = (path: string) =>
    within(
      { root: place.root, path: path === "" ? place.path : `${place.path}/${path}` },
      async (folder, name) => {
        const file = await open(folder.at(name), O_RDONLY | O_NOFOLLOW | O_NONBLOCK);
        await file.chmod(mode).finally(() => file.close());
      },
    );
  for await (const entry of walkInside(place)) {
    if (entry.kind === "folder") folders.push(entry.path);
    else if (entry.kind === "file" && (recursive || entry.path === "")) await set(entry.path);
    if (!recursive) break;
  }
  // The innermost first: afterwards a folder may be closed to us.
  for (const path of folders.reverse()) await set(path);
}
