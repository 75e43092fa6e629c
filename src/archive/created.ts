/**
 * How rows are counted by the time of their creation: in buckets of four sizes. So any span of time is a few of them, however
 * many rows there are.
 */
import type { ArchivedEntry } from "./port.ts";

/** Sizes of buckets, ms. Rows are created at whole seconds. */
const UNITS = [1_000, 60_000, 3_600_000, 86_400_000] as const;

/** What is counted: rows of a namespace ("" for all together) and a phase that were created in this bucket. */
export interface Bucket {
  namespace: string;
  unit: number;
  /** When it begins, epoch ms. */
  at: number;
  phase: string;
}

/** Buckets of one size that follow one another. */
export interface BucketRange {
  unit: number;
  from: number;
  /** Not included. */
  to: number;
}

/** The buckets that a row is counted in. */
export function bucketsOf(
  { namespace, phase, createdAt }: Pick<ArchivedEntry, "namespace" | "phase" | "createdAt">,
): Bucket[] {
  return ["", namespace].flatMap((place) =>
    UNITS.map((unit) => ({
      namespace: place,
      unit,
      at: Math.floor(createdAt / unit) * unit,
      phase,
    }))
  );
}

/** The buckets that make up a span of time, which does not include its end: large ones, and small ones at its ends. */
export function rangesOf(from: number, to: number): BucketRange[] {
  const [second] = UNITS;
  return split(roundUp(from, second), roundUp(to, second), UNITS.length - 1);
}

function split(from: number, to: number, size: number): BucketRange[] {
  const unit = UNITS[size];
  if (unit === undefined || from >= to) return [];
  const range = { unit, from: roundUp(from, unit), to: Math.floor(to / unit) * unit };
  if (range.from >= range.to) return split(from, to, size - 1);
  return [...split(from, range.from, size - 1), range, ...split(range.to, to, size - 1)];
}

function roundUp(time: number, unit: number): number {
  return Math.ceil(time / unit) * unit;
}
