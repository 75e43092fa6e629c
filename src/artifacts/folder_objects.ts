/** Objects as files below one folder: the repository that needs no server. */
import { randomUUID } from "node:crypto";
import { createWriteStream } from "node:fs";
import { mkdir, readdir, rename, rm, rmdir, stat } from "node:fs/promises";
import { dirname, join, resolve, sep } from "node:path";
import type { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { invalid } from "../base/problem.ts";
import { readFileStream } from "./file_stream.ts";
import type { ObjectStore, StoredObject } from "./object_store.ts";

/** Unfinished files; no key has such a name. */
const PARTIAL = ".partial-";

export class FolderObjects implements ObjectStore {
  readonly name: string;
  readonly #root: string;

  /** @param root Folder, made when something is written. */
  constructor(root: string) {
    this.#root = resolve(root);
    this.name = this.#root;
  }

  #path(key: string): string {
    const parts = key.split("/");
    if (key === "" || key.includes("\0") || parts.some((part) => part === ".." || part === ".")) {
      throw invalid(`Artifact key "${key}" is not a path below the repository`);
    }
    return join(this.#root, ...parts);
  }

  async read(key: string): Promise<StoredObject | undefined> {
    const path = this.#path(key);
    const found = await stat(path).catch(() => undefined);
    return found?.isFile() ? { size: found.size, body: readFileStream(path) } : undefined;
  }

  async write(key: string, body: Readable): Promise<void> {
    const path = this.#path(key);
    const partial = join(dirname(path), `${PARTIAL}${randomUUID()}`);
    await mkdir(dirname(path), { recursive: true });
    try {
      await pipeline(body, createWriteStream(partial));
      await rename(partial, path);
    } catch (error) {
      await rm(partial, { force: true });
      throw error;
    }
  }

  async *list(prefix: string): AsyncGenerator<string> {
    const folder = prefix.slice(0, prefix.lastIndexOf("/") + 1);
    const start = folder === "" ? this.#root : this.#path(folder.slice(0, -1));
    for await (const path of filesBelow(start)) {
      const key = path.slice(this.#root.length + 1).split(sep).join("/");
      if (key.startsWith(prefix)) yield key;
    }
  }

  async remove(key: string): Promise<void> {
    const path = this.#path(key);
    if ((await stat(path).catch(() => undefined))?.isFile() !== true) return;
    await rm(path, { force: true });
    // Folders that are empty now go too; the first that isn't ends this.
    for (let folder = dirname(path); folder.length > this.#root.length; folder = dirname(folder)) {
      if (!await rmdir(folder).then(() => true, () => false)) return;
    }
  }
}

async function* filesBelow(folder: string): AsyncGenerator<string> {
  const entries = await readdir(folder, { withFileTypes: true }).catch(() => []);
  // Folders sort as their keys do, with the slash.
  const key = (entry: typeof entries[number]) => entry.name + (entry.isDirectory() ? "/" : "");
  entries.sort((a, b) => (key(a) < key(b) ? -1 : 1));
  for (const entry of entries) {
    const path = join(folder, entry.name);
    if (entry.isDirectory()) yield* filesBelow(path);
    else if (entry.isFile() && !entry.name.startsWith(PARTIAL)) yield path;
  }
}
