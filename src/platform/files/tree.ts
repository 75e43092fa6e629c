/** Files and folders with all that is in them, below a root. Links are never followed. */
import { constants } from "node:fs";
import { type FileHandle, lstat, open, readlink, rename, symlink } from "node:fs/promises";
import { invalid } from "../../base/problem.ts";
import { entriesIn } from "./folder_entries.ts";
import { makeFolderInside, openRegular, removeInside, writeInside } from "./inside.ts";
import { codeOf, isMissing, OpenedFolder, within } from "./opened_folder.ts";
import { isUnreadable, LinkInPath, MAX_DEPTH, namesOf, type Place, trustedPlace } from "./place.ts";

const { O_NOFOLLOW, O_NONBLOCK, O_RDONLY } = constants;

/** Most entries of one folder: all of them are held to be sorted. */
const MAX_NAMES = 200_000;

/** One entry of a tree, with its path below where the walk began. The beginning itself has the path "". */
export type TreeEntry =
  | { kind: "folder"; path: string; mode: number; mtime: Date }
  | {
    kind: "file";
    path: string;
    mode: number;
    mtime: Date;
    size: number;
    /** Opens it. Call it before the next entry is asked for. */
    open(): Promise<FileHandle>;
  }
  | { kind: "link"; path: string; target: string; mtime: Date };

/**
 * A file, or a folder with all that is in it, sorted; each folder comes before its entries. Links are entries, too, and are
 * not followed. Pipes, sockets and devices are left out.
 *
 * @throws {LinkInPath} when the place itself is a link, or a link is on the way
 */
export async function* walkInside(place: Place): AsyncGenerator<TreeEntry> {
  const names = namesOf(place.path);
  // The generator outlives this call, so it needs a folder of its own.
  const folder = await within(place, (parent) => OpenedFolder.open(`${parent.address}/.`));
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
  folder: OpenedFolder,
  name: string,
  path: string,
  depth: number,
): AsyncGenerator<TreeEntry> {
  const at = folder.at(name);
  const found = await lstat(at).catch((error) => {
    if (!isMissing(error) || !isUnreadable(name)) throw error;
    throw invalid(`"${path}" has a name that is not UTF-8; give it another name`);
  });
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
  const opened = await OpenedFolder.open(at);
  try {
    for (const child of await sortedNames(opened, path)) {
      yield* walkEntry(opened, child, path === "" ? child : `${path}/${child}`, depth + 1);
    }
  } finally {
    await opened.close();
  }
}

async function sortedNames({ address }: OpenedFolder, path: string): Promise<string[]> {
  const names: string[] = [];
  for await (const { name } of entriesIn(address)) {
    if (names.push(name) <= MAX_NAMES) continue;
    throw invalid(`${path === "" ? "It" : `"${path}"`} has more than ${MAX_NAMES} entries`);
  }
  return names.sort();
}

/** Mode of folders that are made on the way. */
const FOLDER_MODE = 0o755;

/** Moves something that the server made to a place, and replaces what was there. Missing folders are made. */
export async function moveInside(from: string, place: Place): Promise<void> {
  await removeInside(place);
  try {
    await within(place, (folder, name) => rename(from, folder.at(name)), FOLDER_MODE);
  } catch (error) {
    if (codeOf(error) !== "EXDEV") throw error;
    await copyInside(trustedPlace(from), place);
    await removeInside(trustedPlace(from));
  }
}

async function copyInside(from: Place, to: Place): Promise<void> {
  for await (const entry of walkInside(from)) {
    const place = { root: to.root, path: entry.path === "" ? to.path : `${to.path}/${entry.path}` };
    if (entry.kind === "folder") await makeFolderInside(place, entry.mode | 0o700);
    else if (entry.kind === "link") {
      await within(place, (folder, name) => symlink(entry.target, folder.at(name)), FOLDER_MODE);
    } else {
      const file = await entry.open();
      await writeInside(place, file.createReadStream(), {
        mode: entry.mode,
        folderMode: FOLDER_MODE,
      });
    }
  }
}

/** Sets the mode of a file or folder, with `recursive` also of all that is in it. Links stay as they are. */
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
  // The innermost first: a folder may be closed to us when its mode is set.
  for (const path of folders.reverse()) await set(path);
}
