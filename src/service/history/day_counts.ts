/** How many archived workflows ended on each day: from rollups, however many there are. */
import type { DayCount } from "../../archive/port.ts";
import { beginOfDay, dayOf, MOST_DAY_COUNTS } from "../../archive/query.ts";
import type { Caller } from "../../auth/port.ts";
import { invalid } from "../../base/problem.ts";
import { requireWorkflowList } from "../access.ts";
import type { ServiceDeps } from "../deps.ts";
import { requireHistory } from "./required_history.ts";

const DAY_MS = 86_400_000;
/** Days that are counted when no first day is given. */
const DEFAULT_DAYS = 30;

export interface DayCountRequest {
  /** Empty: all. */
  namespace?: string;
  /** First day, `2026-11-01`, in UTC. @default 29 days before the last one */
  from?: string;
  /** Last day. @default today */
  to?: string;
}

/**
 * Counts by day, namespace, phase and template, newest day first. A workflow counts once it is in the archive.
 * @throws {Problem} PermissionDenied, InvalidArgument; FailedPrecondition without `--archive-store`
 */
export async function countDays(
  deps: ServiceDeps,
  caller: Caller,
  { namespace = "", from = "", to = "" }: DayCountRequest,
): Promise<DayCount[]> {
  await requireWorkflowList(caller, namespace);
  const { archive } = requireHistory(deps);
  const last = to === "" ? dayOf(deps.clock.now()) : to;
  const end = beginOfDay(last, "to");
  const first = from === "" ? dayOf(end - (DEFAULT_DAYS - 1) * DAY_MS) : from;
  if (beginOfDay(first, "from") > end) throw invalid(`from: ${first} is after ${last}`);
  const counts = await archive.dayCounts(
    first,
    last,
    namespace === "" ? undefined : namespace,
    MOST_DAY_COUNTS + 1,
  );
  if (counts.length <= MOST_DAY_COUNTS) return counts;
  throw invalid(
    `there are more than ${MOST_DAY_COUNTS} counts from ${first} to ${last}: name a namespace or fewer days`,
  );
}
