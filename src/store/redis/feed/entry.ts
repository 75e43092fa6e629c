import type { Change } from "../../port.ts";

/** A change in the feed. */
export interface FeedEntry {
  version: number;
  change: Change;
  /** Characters in its stored form. */
  size: number;
  /** What it replaced is in earlier changes. */
  lacksTexts: boolean;
}

export function byVersion(a: FeedEntry, b: FeedEntry): number {
  return a.version - b.version;
}
