/** Forms of answers that several operations share. */

/** One page of a list. */
export interface List<T> {
  metadata: {
    resourceVersion?: string;
    /** For `listOptions.continue` of the next page; absent on the last one. */
    continue?: string;
    remainingItemCount?: number;
  };
  /** `null` when there is none. */
  items: T[] | null;
}

/** One frame of a watch. */
export interface Change<T> {
  type: "ADDED" | "MODIFIED" | "DELETED";
  object: T;
}

/** One line of a log. */
export interface LogLine {
  content?: string;
  podName?: string;
}

/** A workflow in an answer of which only name and phase matter. */
export interface MinimalAnswer {
  metadata: { name?: string; namespace?: string; uid?: string; resourceVersion?: string };
  status: { phase?: string };
}
