/**
 * Due times at which a cron workflow did not run, as an annotation of it keeps them. Times in a row with the same reason are one
 * entry, and only the last entries are kept, so the annotation stays small.
 */
import { parseOrUndefined } from "../base/json_text.ts";
import type { Naming } from "./naming.ts";

/** Why a due time passed without a run: the run before was still going (`Forbid`), its `when` was false, or it was refused. */
export type SkipReason = "active" | "condition" | "error";

/** Due times in a row that were skipped for the same reason. */
export interface CronSkip {
  reason: SkipReason;
  /** First and last due time, epoch ms. */
  from: number;
  to: number;
  count: number;
}

const MOST = 10;

/** Annotation of a cron workflow: see {@link skipsFrom}. */
export function skippedAnnotation({ apiGroup }: Pick<Naming, "apiGroup">): string {
  return `cronworkflows.${apiGroup}/skipped`;
}

/** The entries of an annotation's text, newest first; none if it cannot be read. */
export function skipsFrom(text: string | undefined): CronSkip[] {
  if (text === undefined) return [];
  const found = parseOrUndefined(text);
  return Array.isArray(found) ? found.filter(isSkip).slice(0, MOST) : [];
}

/**
 * The annotation's text after a due time was skipped; the same text if it knows of that time already.
 *
 * @param ranAtMs when it last ran: times before and after that are no row
 */
export function withSkip(
  text: string | undefined,
  dueMs: number,
  reason: SkipReason,
  ranAtMs: number | undefined,
): string {
  const known = skipsFrom(text);
  const [last] = known;
  if (text !== undefined && last !== undefined && last.to >= dueMs) return text;
  const isRow = last?.reason === reason && (ranAtMs ?? 0) < last.from;
  const [next, rest] = last !== undefined && isRow
    ? [{ ...last, to: dueMs, count: last.count + 1 }, known.slice(1)]
    : [{ reason, from: dueMs, to: dueMs, count: 1 }, known];
  return JSON.stringify([next, ...rest].slice(0, MOST));
}

function isSkip(value: unknown): value is CronSkip {
  if (typeof value !== "object" || value === null) return false;
  const { reason, from, to, count } = value as Record<string, unknown>;
  return (reason === "active" || reason === "condition" || reason === "error") &&
    [from, to, count].every((one) => typeof one === "number" && Number.isFinite(one));
}
