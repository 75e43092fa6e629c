/**
 * What the owner of a shard remembers of its own commits, so that the commit script need not find it out: the index entries
 * that it wrote, and which actors it created lately. The script compares the version of the actor, or the text that was read.
 * What was created lately is true as long as the lease is: a commit under another epoch is refused.
 */
import { BoundedCache } from "../../../base/bounded_cache.ts";
import type { IndexEntry, ShardCommit } from "../../port.ts";
import { isLargeCreation } from "../../large_creation.ts";
import { decodeIndex } from "../index.ts";
import type { Version } from "../../version.ts";
import type { SharedTexts } from "../shared_texts.ts";
import type { Filing, Terms } from "../terms.ts";

/** Most index entries that are remembered of a shard. */
const MAX_ENTRIES = 512;

/** For how many changes, and for how long, it remembers who was created. The feed has their changes for longer. */
interface Reach {
  span: number;
  ms: number;
}

/** Where the index entry of an actor is filed. */
interface Filed {
  entry: IndexEntry;
  filing: Filing;
  /** How the script tells that it is still there: the version of the actor, "" while its first commit is under way. */
  proof: Version;
}

export class ShardMemory {
  readonly epoch: number;
  readonly layout: number;
  readonly terms: Terms;
  readonly shared: SharedTexts;
  /** Index entries by actor; of those that were read, the text. */
  readonly #entries = new BoundedCache<string, Filed | string>(MAX_ENTRIES);
  /** Actors, the number of the change that created them, and when that was (monotonic, ms), oldest first. */
  readonly #created = new Map<string, { number: number; at: number }>();
  readonly #reach: Reach;
  /** Changes so far. */
  #changes = 0;

  constructor(epoch: number, reach: Reach, terms: Terms, shared: SharedTexts) {
    this.epoch = epoch;
    this.shared = shared;
    this.layout = terms.layout;
    this.terms = terms;
    this.#reach = reach;
  }

  /**
   * Where the index entry is filed that was read or sent last; what was read is proved by its text. Undefined if it is
   * not known, or can't be read.
   */
  filedOf(id: string): Readonly<Filed> | undefined {
    const known = this.#entries.get(id);
    if (typeof known !== "string") return known;
    const entry = decodeIndex(id, known);
    return entry && { entry, filing: this.terms.filingOf(entry), proof: known };
  }

  /** The index entry that was sent last; undefined if that is not known. What was read may be an earlier one. */
  entryOf(id: string): IndexEntry | undefined {
    const known = this.#entries.get(id);
    return typeof known === "object" ? known.entry : undefined;
  }

  /** An index entry is being sent. */
  noteSent(id: string, entry: IndexEntry, filing: Filing): void {
    const known = this.#entries.get(id);
    const proof = typeof known === "object" ? known.proof : "";
    this.#entries.set(id, { entry, filing, proof });
  }

  /** An index entry was read; it may be an earlier one. */
  noteRead(id: string, text: string): void {
    this.#entries.set(id, text);
  }

  /** How many changes ago this actor was created, as text; "" if that is not known. */
  ageOf(id: string): string {
    const created = this.#created.get(id);
    if (created === undefined) return "";
    const age = this.#changes - created.number;
    const { span, ms } = this.#reach;
    return age >= span || created.at < performance.now() - ms ? "" : String(age);
  }

  /** A removal is being sent: what follows it in the same commit finds no index entry. */
  noteRemoved(id: string): void {
    this.#entries.delete(id);
  }

  /** A commit was written. @param reply versions of its changes, after something else */
  noteCommit({ actors }: ShardCommit, reply: readonly (Version | undefined)[]): void {
    let at = 1;
    for (const change of actors) {
      const { id, create, remove } = change;
      this.#changes++;
      if (create || remove) this.#created.delete(id);
      // Of one that is too large, the feed does not have what later changes replace.
      if (create && !isLargeCreation(change)) this.#noteCreated(id);
      const known = this.#entries.get(id);
      if (remove) this.#entries.delete(id);
      else if (typeof known === "object") known.proof = reply[at] ?? "";
      at++;
    }
  }

  #noteCreated(id: string): void {
    const at = performance.now();
    this.#created.set(id, { number: this.#changes, at });
    const { span, ms } = this.#reach;
    for (const [oldest, created] of this.#created) {
      if (this.#changes - created.number < span && created.at >= at - ms) return;
      this.#created.delete(oldest);
    }
  }
}
