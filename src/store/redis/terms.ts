/**
 * The terms under which Redis files an index entry: one ordered set each. They depend on the layout of the store.
 *
 * Layout 1 has a set for every label. In layout 2 most workflows have no sets for the labels that repeat their phase, nor
 * for being open: the set of the phase stands for these too. A workflow whose labels say something else than its phase is
 * filed under them, and under another term for its phase. Layout 3 files as layout 2 does; its texts are short
 * (`texts/short_texts.ts`).
 */
import { BoundedCache } from "../../base/bounded_cache.ts";
import { completedLabel, phaseLabel, STANDARD_NAMING } from "../../spec/naming.ts";
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
import { encodeLabels } from "./index.ts";
import { jsonForLua } from "./script.ts";

/** The newest layout that this program knows; a store keeps the one with which it was created. */
export const LAYOUT = 3;
/** Layouts that a new store may have, the usual one first. */
export const NEW_LAYOUTS: readonly number[] = [LAYOUT, 2];
/** In place of a layout: the store is a copy that is not complete. No program takes it for a layout that it knows. */
export const UNFINISHED = "copy";

/** Sets of terms that are remembered: as many as workflows in different places have of late. */
const MAX_KNOWN = 1_024;

/** The terms of an entry. Entries with the same terms share them, so they are compared as objects. */
export interface Filing {
  readonly terms: readonly string[];
  /** The labels of the entry, as `encodeIndex` takes them. */
  readonly labels: string;
  /** How it differs from others that it replaced. */
  readonly replaced: WeakMap<Filing, Refiling>;
}

/** What becomes of the terms of an entry. */
export interface Refiling {
  /** As JSON. */
  readonly kept: string;
  readonly fresh: readonly string[];
  readonly gone: readonly string[];
}

/** What becomes of the terms when one filing replaces another. */
export function refile(before: Filing, now: Filing): Refiling {
  const known = now.replaced.get(before);
  if (known !== undefined) return known;
  const refiling = {
    kept: jsonForLua(now.terms.filter((term) => before.terms.includes(term))),
    fresh: now.terms.filter((term) => !before.terms.includes(term)),
    gone: before.terms.filter((term) => !now.terms.includes(term)),
  };
  now.replaced.set(before, refiling);
  return refiling;
}

const PHASE_LABEL = phaseLabel(STANDARD_NAMING);
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
  readonly #known = new BoundedCache<string, Filing>(MAX_KNOWN);

  constructor(layout: number, completedLabel: string) {
    this.layout = layout;
    this.#completedLabel = completedLabel;
  }

  /** The terms under which an entry is filed. */
  filingOf(entry: IndexEntry): Filing {
    const { namespace, phase, labels, waitsSince } = entry;
    const waits = waitsSince === undefined ? "" : "w";
    const key = `${waits}\0${phase}\0${namespace}\0${JSON.stringify(labels)}`;
    return this.#known.get(key) ?? this.#known.set(key, {
      terms: this.of(entry),
      labels: encodeLabels(labels),
      replaced: new WeakMap(),
    });
  }

  /** The same as a list of the caller's own. */
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
