/**
 * The way to a place below a root, as `openat(2)` goes it: each folder is opened by its name in the one before. Links are
 * never followed, and `..` is refused. So those who may write below the root can't lead the server out of it.
 *
 * On Linux an opened folder is addressed by its descriptor (`/proc/self/fd/N`): it does not matter when somebody replaces the
 * folder by a link in the middle of a call. Elsewhere, or where `/proc` can't be read, it is addressed by its path: a link
 * that is there is found, one that is put there between two system calls is not.
 */
import { constants } from "node:fs";
import { type FileHandle, lstat, mkdir, open, readlink } from "node:fs/promises";
import { Problem } from "../../base/problem.ts";
import { LinkInPath, namesOf, type Place } from "./place.ts";

const { O_DIRECTORY, O_NOFOLLOW, O_RDONLY } = constants;

/** An opened folder. */
export class OpenedFolder {
  readonly #handle: FileHandle;
  /** Path by which system calls reach this very folder while it is open. */
  readonly address: string;

  private constructor(handle: FileHandle, address: string) {
    this.#handle = handle;
    this.address = address;
  }

  /** Opens a folder by its path; a link at its end is followed when `isTrusted`. */
  static async open(path: string, isTrusted = false): Promise<OpenedFolder> {
    const handle = await open(path, O_RDONLY | O_DIRECTORY | (isTrusted ? 0 : O_NOFOLLOW));
    const address = await hasDescriptors(handle) ? `/proc/self/fd/${handle.fd}` : path;
    return new OpenedFolder(handle, address);
  }

  at(name: string): string {
    return `${this.address}/${name}`;
  }

  close(): Promise<void> {
    return this.#handle.close();
  }
}

let descriptors: Promise<boolean> | undefined;

/** True when `/proc/self/fd/N` leads to the opened folder. Looked at once. */
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

/**
 * Does something with the last name of a path and the folder that it is in.
 *
 * @param make mode of the missing folders on the way, which are made then; absent: they are an error
 * @throws {LinkInPath} when a link is on the way
 */
export async function within<Result>(
  { root, path }: Place,
  act: (folder: OpenedFolder, name: string) => Promise<Result>,
  make?: number,
): Promise<Result> {
  const names = namesOf(path);
  const last = names.at(-1) ?? ".";
  let folder = await OpenedFolder.open(root, true);
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
  folder: OpenedFolder,
  names: readonly string[],
  index: number,
  make: number | undefined,
): Promise<OpenedFolder> {
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
    return await OpenedFolder.open(at);
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

/** The error to show: without the server's own paths. */
async function explained(
  error: unknown,
  folder: OpenedFolder,
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

/** The code of a system error, like `ENOENT`. */
export function codeOf(error: unknown): string | undefined {
  return error instanceof Error && "code" in error && typeof error.code === "string"
    ? error.code
    : undefined;
}

/** True when nothing is at a path. */
export function isMissing(error: unknown): boolean {
  const code = codeOf(error);
  return code === "ENOENT" || code === "ENOTDIR";
}
