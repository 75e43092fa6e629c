/**
 * What the owner of a shard remembers of its own commits, so that the commit script need not find it out: the index entries
 * that it wrote, and which actors it created lately. The script compares an entry with the stored one. What was created
 * lately is true as long as the lease is: a commit under another epoch is refused.
 */
import { BoundedCache } from "../../../base/bounded_cache.ts";
import type { ShardCommit } from "../../port.ts";
import type { SharedTexts } from "../shared_texts.ts";
import type { Terms } from "../terms.ts";

/** Most index entries that are remembered of a shard. */
const MAX_ENTRIES = 64;

export class ShardMemory {
  readonly epoch: number;
  readonly layout: number;
  readonly terms: Terms;
  readonly shared: SharedTexts;
  /** Texts of index entries by actor. */
  readonly #entries = new BoundedCache<string, string>(MAX_ENTRIES);
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

  /** The index entry that was read or sent last; undefined if it is not known. */
  indexOf(id: string): string | undefined {
    return this.#entries.get(id);
  }

  noteIndex(id: string, text: string): void {
    this.#entries.set(id, text);
  }

  /** How many changes ago this actor was created, as text; "" if that is not known. */
  ageOf(id: string): string {
    const number = this.#created.get(id);
    return number === undefined ? "" : String(this.#changes - number);
  }

  /** A commit was written. */
  noteCommit({ actors }: ShardCommit): void {
    for (const { id, create, remove } of actors) {
      this.#changes++;
      if (create || remove) this.#created.delete(id);
      if (create) this.#created.set(id, this.#changes);
      if (remove) this.#entries.delete(id);
    }
    for (const [oldest, number] of this.#created) {
      if (this.#changes - number < this.#span) return;
      this.#created.delete(oldest);
    }
  }
}
