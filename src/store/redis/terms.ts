/**
 * The terms under which Redis files an index entry: one ordered set each. They depend on the layout of the store.
 *
 * Layout 1 has a set for every label. In layout 2 most workflows have no sets for the labels that repeat their phase, nor
 * for being open: the set of the phase stands for these too. A workflow whose labels say something else than its phase is
 * filed under them, and under another term for its phase. Layout 3 files as layout 2 does; its texts are short
 * (`texts/short_texts.ts`).
 */
import { completedLabel, STANDARD_NAMING } from "../../spec/naming.ts";
import {
  ALL_TERM,
  drivingTerms,
  indexTerms,
  labelTerm,
  namespaceTerm,
  OPEN_TERM,
  phaseTerm,
  WAIT_TERM,
} from "../list_query.ts";
import type { IndexEntry, ListQuery } from "../port.ts";

/** The newest layout that this program knows; a store keeps the one with which it was created. */
export const LAYOUT = 3;
/** Layouts that a new store may have, the usual one first. */
export const NEW_LAYOUTS: readonly number[] = [2, LAYOUT];
/** In place of a layout: the store is a copy that is not complete. No program takes it for a layout that it knows. */
export const UNFINISHED = "copy";

const PHASE_LABEL = `${STANDARD_NAMING.labelPrefix}phase`;
const COMPLETED_LABEL = completedLabel(STANDARD_NAMING);
/** What the label says that tells whether a workflow of a phase has ended; undefined if neither label is there. */
const USUAL: ReadonlyMap<string, string | undefined> = new Map([
  ["", undefined],
  ["Pending", undefined],
  ["Running", "false"],
  ["Succeeded", "true"],
  ["Failed", "true"],
  ["Error", "true"],
]);

export class Terms {
  readonly layout: number;
  readonly #completedLabel: string;

  constructor(layout: number, completedLabel: string) {
    this.layout = layout;
    this.#completedLabel = completedLabel;
  }

  /** The terms under which an entry is filed. */
  of(entry: IndexEntry): string[] {
    if (this.layout === 1) return indexTerms(entry, this.#completedLabel);
    const { namespace, phase, labels } = entry;
    const own = phaseTerm(phase);
    const terms = [ALL_TERM, namespaceTerm(namespace), own];
    if (entry.waitsSince !== undefined) terms.push(WAIT_TERM);
    let [shownPhase, shownEnd]: (string | undefined)[] = [];
    for (const key in labels) {
      const value = labels[key] ?? "";
      if (key === PHASE_LABEL) shownPhase = value;
      else if (key === COMPLETED_LABEL) shownEnd = value;
      else terms.push(labelTerm(key, value));
    }
    // The labels follow from the phase.
    const completed = USUAL.get(phase);
    const isUsual = USUAL.has(phase) && shownEnd === completed &&
      shownPhase === (completed === undefined ? undefined : phase);
    return isUsual ? terms : indexTerms(entry, this.#completedLabel)
      .map((term) => term === own ? unusualTerm(phase) : term);
  }

  /** As `drivingTerms`. */
  waysOf(query: ListQuery): string[][] {
    const ways = drivingTerms(query, this.#completedLabel);
    if (this.layout === 1) return ways;
    return ways.map((way) => [...way, ...new Set(way.flatMap((term) => this.#alsoUnder(term)))]);
  }

  /** Terms of layout 2 under which the rest is filed of what layout 1 files under this term. */
  #alsoUnder(term: string): string[] {
    const phases = [...USUAL.keys()];
    if (term === OPEN_TERM) {
      // Another label says nothing about entries with the usual labels.
      const isStandard = this.#completedLabel === COMPLETED_LABEL;
      return phases.filter((one) => !isStandard || USUAL.get(one) !== "true").map(phaseTerm);
    }
    if (term.startsWith("p:")) return [unusualTerm(term.slice(2))];
    return phases.filter((one) => {
      const completed = USUAL.get(one);
      return completed !== undefined &&
        (term === labelTerm(PHASE_LABEL, one) || term === labelTerm(COMPLETED_LABEL, completed));
    }).map(phaseTerm);
  }
}

function unusualTerm(phase: string): string {
  return `q:${phase}`;
}
