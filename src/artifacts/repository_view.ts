// deno-lint-ignore-file require-await -- so that trouble and refusals are rejections
/**
 * A repository as the workflows of one namespace see it: below the prefix of the deployment, and without the keys of other
 * namespaces. Every access to a repository goes through this.
 */
import type { Readable } from "node:stream";
import { Problem, ProblemCode } from "../base/problem.ts";
import { foreignKeyText, isKeyOf, isPath, isPrefixOf, ownPrefixes } from "../spec/artifact_key.ts";
import type { ObjectStore, StoredObject } from "./object_store.ts";

export interface ViewOptions {
  /** How messages call it. @default {the store's name} */
  name?: string;
  /** What every key in the store begins with. The keys of the view leave it out. */
  keyPrefix: string;
  /** The namespace whose keys are seen; absent: all keys are. */
  namespace?: string;
  /** Other keys that are seen, with all keys below them. */
  formerKeys?: readonly string[];
}

export class RepositoryView implements ObjectStore {
  readonly name: string;
  readonly #objects: ObjectStore;
  readonly #options: ViewOptions;

  constructor(objects: ObjectStore, options: ViewOptions) {
    this.name = options.name ?? objects.name;
    this.#objects = objects;
    this.#options = options;
  }

  /** Checks a key. Rejects with PermissionDenied when it is not seen. */
  async check(key: string): Promise<void> {
    this.#own(key);
  }

  async read(key: string): Promise<StoredObject | undefined> {
    return this.#objects.read(this.#own(key));
  }

  async write(key: string, body: Readable): Promise<void> {
    return this.#objects.write(this.#own(key), body);
  }

  /** Keys that begin with a prefix; with the empty one all that are seen. */
  async *list(prefix: string): AsyncGenerator<string> {
    const { keyPrefix, namespace } = this.#options;
    if (prefix === "" && namespace !== undefined) {
      for (const own of ownPrefixes(namespace)) yield* this.list(own);
      return;
    }
    if (namespace !== undefined && !isPrefixOf(namespace, prefix) && !this.#isFormer(prefix)) {
      throw refused(namespace, prefix);
    }
    for await (const found of this.#objects.list(keyPrefix + prefix)) {
      const key = found.slice(keyPrefix.length);
      if (this.#isSeen(key)) yield key;
    }
  }

  async remove(key: string): Promise<void> {
    return this.#objects.remove(this.#own(key));
  }

  /** The key in the store. @throws {Problem} PermissionDenied when it is not seen */
  #own(key: string): string {
    const { keyPrefix, namespace = "" } = this.#options;
    if (!this.#isSeen(key)) throw refused(namespace, key);
    return keyPrefix + key;
  }

  #isSeen(key: string): boolean {
    const { namespace } = this.#options;
    return namespace === undefined || isKeyOf(namespace, key) || this.#isFormer(key);
  }

  #isFormer(key: string): boolean {
    const { formerKeys = [] } = this.#options;
    return isPath(key) && formerKeys.some((one) => key === one || key.startsWith(`${one}/`));
  }
}

function refused(namespace: string, key: string): Problem {
  return new Problem(ProblemCode.PermissionDenied, foreignKeyText(namespace, key));
}
