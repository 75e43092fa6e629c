/** Objects as files below one folder: the repository that needs no server. */
import { mkdir, rmdir } from "node:fs/promises";
import { dirname, join, resolve, sep } from "node:path";
import type { Readable } from "node:stream";
import { invalid, Problem } from "../base/problem.ts";
import { entriesIn, type FolderEntry } from "../platform/files/folder_entries.ts";
import {
  findInside,
  openInside,
  removeInside,
  UNFINISHED,
  writeInside,
} from "../platform/files/inside.ts";
import { isMissing } from "../platform/files/opened_folder.ts";
import { namesOf, type Place } from "../platform/files/place.ts";
import { toldToReader } from "./file_stream.ts";
import type { ObjectStore, StoredObject } from "./object_store.ts";

/** Reads what is directly in a folder. */
type ReadFolder = (path: string) => AsyncIterable<FolderEntry>;

export class FolderObjects implements ObjectStore {
  /** Callers see the name, so it hides the path. */
  readonly name = "the artifact folder";
  readonly #root: string;
  readonly #readFolder: ReadFolder;

  /** @param root folder, made by the first write */
  constructor(
    root: string,
    readFolder: ReadFolder = entriesIn,
  ) {
    this.#root = resolve(root);
    this.#readFolder = readFolder;
  }

  #place(key: string): Place {
    try {
      const names = key.split("/");
      if (!names.includes(".") && namesOf(key).length > 0) return { root: this.#root, path: key };
    } catch (error) {
      throw notBelow(key, error);
    }
    throw notBelow(key);
  }

  async read(key: string): Promise<StoredObject | undefined> {
    const place = this.#place(key);
    if ((await findInside(place))?.kind !== "file") return undefined;
    const file = await openInside(place);
    return { size: (await file.stat()).size, body: toldToReader(file.createReadStream()) };
  }

  async write(key: string, body: Readable): Promise<void> {
    const place = this.#place(key);
    await mkdir(this.#root, { recursive: true });
    await writeInside(place, body);
  }

  async *list(prefix: string): AsyncGenerator<string> {
    const folder = prefix.slice(0, prefix.lastIndexOf("/") + 1);
    const start = folder === "" ? { root: this.#root, path: "" } : this.#place(folder);
    if ((await findInside(start))?.kind !== "folder") return;
    for await (const path of this.#filesBelow(join(this.#root, ...namesOf(start.path)))) {
      const key = path.slice(this.#root.length + 1).split(sep).join("/");
      if (key.startsWith(prefix)) yield key;
    }
  }

  async *#filesBelow(folder: string): AsyncGenerator<string> {
    const keys: string[] = [];
    try {
      for await (const { name, isFile, isDirectory } of this.#readFolder(folder)) {
        // A folder is sorted with the slash that its keys have.
        if (isDirectory) keys.push(`${name}/`);
        else if (isFile && !name.startsWith(UNFINISHED)) keys.push(name);
      }
    } catch (error) {
      // It is gone since. Anything else would make a part of the files pass for all of them.
      if (!isMissing(error)) throw error;
    }
    for (const key of keys.sort()) {
      const path = join(folder, key);
      if (key.endsWith("/")) yield* this.#filesBelow(path.slice(0, -1));
      else yield path;
    }
  }

  async remove(key: string): Promise<void> {
    const place = this.#place(key);
    if ((await findInside(place))?.kind !== "file") return;
    await removeInside(place);
    // Folders that are empty now go, too.
    const path = join(this.#root, ...namesOf(key));
    for (let folder = dirname(path); folder.length > this.#root.length; folder = dirname(folder)) {
      if (!await rmdir(folder).then(() => true, () => false)) return;
    }
  }
}

function notBelow(key: string, cause?: unknown): Problem {
  const shown = key.length > 200 ? `${key.slice(0, 200)}…` : key;
  const reason = cause instanceof Problem
    ? `: ${cause.message.replace(/^Path ".*" /s, "it ")}`
    : "";
  return invalid(`Artifact key "${shown}" is not a path below the repository${reason}`);
}
