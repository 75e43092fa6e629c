/** Manifests that were read and may still be current. */
import type { StoredManifest } from "../manifest_port.ts";
import type { Version } from "../version.ts";

/** Most characters of manifests in memory. */
const MAX_KNOWN = 8 << 20;
/** Most answers in memory. */
const MAX_ANSWERS = 2_000;

/** Answers to reads, valid as long as no manifest has changed since. */
export class KnownManifests {
  readonly #answers = new Map<string, readonly StoredManifest[]>();
  #generation = -1;
  #size = 0;

  /** @param generation read after the question was asked */
  get(generation: number, key: string): readonly StoredManifest[] | undefined {
    if (generation !== this.#generation) this.#begin(generation);
    return this.#answers.get(key);
  }

  /** An answer, valid for the version that was read last. */
  latest(key: string): { stored: StoredManifest | undefined; manifests: Version } | undefined {
    const answer = this.#answers.get(key);
    return answer && { stored: answer[0], manifests: String(this.#generation) };
  }

  /** @param generation read before the answer. The answer may be newer; then it is dropped a little early */
  set(generation: number, key: string, answer: readonly StoredManifest[]): void {
    if (generation !== this.#generation || this.#answers.has(key)) return;
    this.#size += answer.reduce((sum, { text }) => sum + text.length, key.length);
    if (this.#size > MAX_KNOWN || this.#answers.size >= MAX_ANSWERS) this.#begin(generation);
    else this.#answers.set(key, answer);
  }

  #begin(generation: number): void {
    this.#answers.clear();
    this.#generation = generation;
    this.#size = 0;
  }
}
