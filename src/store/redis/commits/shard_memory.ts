/**
 * What the owner of a shard remembers of its own commits, so that the commit script need not find it out: the index entries
 * that it wrote, and which actors it created lately. The script compares the version of the actor, or the text that was read.
 * What was created lately is true as long as the lease is: a commit under another epoch is refused.
 */
import { BoundedCache } from "../../../base/bounded_cache.ts";
import type { IndexEntry, ShardCommit } from "../../port.ts";
import { decodeIndex } from "../index.ts";
import type { Version } from "../../version.ts";
import type { SharedTexts } from "../shared_texts.ts";
import type { Terms } from "../terms.ts";

/** Most index entries that are remembered of a shard. */
const MAX_ENTRIES = 64;

/** Where the index entry of an actor is filed, and the version of that actor; "" while its first commit is under way. */
interface Filed extends Pick<IndexEntry, "createdAt" | "uid" | "waitsSince"> {
  terms: readonly string[];
  version: Version;
}

export class ShardMemory {
  readonly epoch: number;
  readonly layout: number;
  readonly terms: Terms;
  readonly shared: SharedTexts;
  /** Index entries by actor; of those that were read, the text. */
  readonly #entries = new BoundedCache<string, Filed | string>(MAX_ENTRIES);
  /** Actors and the number of the change that created them, oldest first. */
  readonly #created = new Map<string, number>();
  readonly #span: number;
  /** Changes so far. */
  #changes = 0;

  /** @param span number of changes for which it remembers who was created */
  constructor(epoch: number, span: number, terms: Terms, shared: SharedTexts) {
    this.epoch = epoch;
    this.shared = shared;
    this.layout = terms.layout;
    this.terms = terms;
    this.#span = span;
  }

  /**
   * Where the index entry is filed that was read or sent last, and how the script tells that it is still there: by the
   * text, or by the version of the actor. Undefined if it is not known, or can't be read.
   */
  filedOf(id: string): Omit<Filed, "version"> & { proof: string } | undefined {
    const known = this.#entries.get(id);
    if (known === undefined) return undefined;
    if (typeof known !== "string") return { ...known, proof: known.version };
    const entry = decodeIndex(id, known);
    return entry && { ...entry, terms: this.terms.of(entry), proof: known };
  }

  /** An index entry is being sent. */
  noteSent(id: string, filed: Omit<Filed, "version">): void {
    const known = this.#entries.get(id);
    const version = typeof known === "object" ? known.version : "";
    this.#entries.set(id, { ...filed, version });
  }

  /** An index entry was read; it may be an earlier one. */
  noteRead(id: string, text: string): void {
    this.#entries.set(id, text);
  }

  /** How many changes ago this actor was created, as text; "" if that is not known. */
  ageOf(id: string): string {
    const number = this.#created.get(id);
    return number === undefined ? "" : String(this.#changes - number);
  }

  /** A commit was written. @param versions of its changes */
  noteCommit({ actors }: ShardCommit, versions: readonly (Version | undefined)[]): void {
    actors.forEach(({ id, create, remove }, at) => {
      this.#changes++;
      if (create || remove) this.#created.delete(id);
      if (create) this.#created.set(id, this.#changes);
      const known = this.#entries.get(id);
      if (remove) this.#entries.delete(id);
      else if (typeof known === "object") known.version = versions[at] ?? "";
    });
    for (const [oldest, number] of this.#created) {
      if (this.#changes - number < this.#span) return;
      this.#created.delete(oldest);
    }
  }
}
