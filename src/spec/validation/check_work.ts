/** The work of a check that grows faster than the size of the manifest, and its bounds. */
import { SpecError } from "../spec_error.ts";

/** Most characters that tags may bring into the templates of a manifest: a tag may occur many times. */
const MAX_FILLED = 2 ** 24;
/**
 * Most weight (see `weightOf`) of the calls of templates that were checked before: they are as many as its steps, and each may
 * cost as much as a large template.
 */
const MAX_FURTHER = 1_000_000;
/** Share of these bounds that a short check has. */
const SHORT_SHARE = 1 / 16;

/** A short check would take too long: it is to be done where it holds up nobody. */
export class CheckTooCostly extends Error {
  override name = "CheckTooCostly";
}

/** Counts the work of one check. */
export class CheckWork {
  readonly #isShort: boolean;
  #filled: number;
  #further: number;

  /** @param isShort whether more than a little work ends with {@link CheckTooCostly} */
  constructor(isShort: boolean) {
    this.#isShort = isShort;
    const share = isShort ? SHORT_SHARE : 1;
    this.#filled = MAX_FILLED * share;
    this.#further = MAX_FURTHER * share;
  }

  /** Counts a value that a tag brings into a template. @throws {SpecError} when that is too much */
  fill(value: string, template: string): void {
    this.#filled -= value.length;
    if (this.#filled >= 0) return;
    if (this.#isShort) throw new CheckTooCostly();
    throw new SpecError(
      `templates.${template} has more than ${MAX_FILLED} characters when parameters are filled in, ` +
        "or all templates together have",
    );
  }

  /** Counts a further call of a template. @throws {SpecError} when that is too much */
  call(weight: number, template: string): void {
    this.#further -= weight;
    if (this.#further >= 0) return;
    if (this.#isShort) throw new CheckTooCostly();
    throw new SpecError(
      `templates.${template} is called too often for its size: let fewer steps call it, or give it fewer inputs and ` +
        "shorter texts around tags",
    );
  }
}
