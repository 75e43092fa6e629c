/**
 * Removes archived workflows whose time is over. What a workflow of this server has left outside goes with it: its
 * artifacts, if its manifest says so, and its logs. One replica does it at a time: whichever owns a certain shard.
 */
import type { ArchivedEntry, ExpiryPosition } from "../../archive/port.ts";
import { governs, parseRetention, type RetentionPolicy, ruleAt } from "../../archive/retention.ts";
import type { Caller } from "../../auth/port.ts";
import { isJsonObject } from "../../base/json.ts";
import { parseOrUndefined } from "../../base/json_text.ts";
import { invalid, isProblem, ProblemCode } from "../../base/problem.ts";
import type { Counter } from "../../platform/metrics.ts";
import { requireAccess } from "../access.ts";
import { withDependents } from "../deleted_owners.ts";
import type { History, ServiceDeps } from "../deps.ts";
import { WORKFLOW } from "../kinds.ts";
import { isDeleted } from "./archived_form.ts";
import { deleteFromArchive } from "./archived_source.ts";
import { Removals } from "./removals.ts";
import { requireHistory } from "./required_history.ts";

/** Workflows that one step looks at. */
const PAGE = 100;
/** Pause between two rounds, and between two looks whether it is this replica's turn. */
const PAUSE_MS = 60_000;
const TURN_MS = 5_000;
/** The owner of the shard of this name removes workflows. */
const SHARD_NAME = ["sluice", "archive-retention"] as const;

/** Where pruning goes on: at a rule, after a workflow. */
interface Cursor {
  rule: number;
  after?: ExpiryPosition;
}

export interface PruneRequest {
  /** As `--archive-retention`; absent: that setting. */
  rules?: string;
  /** Removes nothing. */
  dryRun?: boolean;
  /** From the answer before. */
  continue?: string;
}

/** A step of pruning. */
export interface Pruned {
  /** What was removed, or would be. The log says what could not be removed. */
  items: ArchivedEntry[];
  /** Absent at the end. A step may remove nothing and yet have it. */
  continue?: string;
}

/**
 * Removes some of the workflows whose time is over.
 * @throws {Problem} PermissionDenied, InvalidArgument; FailedPrecondition without `--archive-store`
 */
export async function pruneArchive(
  deps: ServiceDeps,
  caller: Caller,
  { rules, dryRun = false, continue: token = "" }: PruneRequest,
): Promise<Pruned> {
  await requireAccess(caller, { verb: "delete", resource: WORKFLOW.resource, namespace: "" });
  const policies = rules === undefined
    ? deps.settings.archiveRetention ?? []
    : parseRetention(rules);
  if (policies.length === 0) {
    throw invalid(
      "say which workflows may go: with rules, or with --archive-retention of the server",
    );
  }
  const { items, next } = await step(
    deps,
    requireHistory(deps),
    policies,
    readCursor(token),
    dryRun ? undefined : new Removals(deps),
  );
  return { items, ...(next !== undefined && { continue: writeCursor(next) }) };
}

/** Removes workflows whose time is over, again and again until the signal aborts. */
export async function runRetention(
  deps: ServiceDeps,
  failures: Counter,
  signal: AbortSignal,
): Promise<void> {
  const { history, clock, log, settings } = deps;
  const removals = new Removals({ clock, log, failures });
  const { archiveRetention = [] } = settings;
  if (history === undefined || archiveRetention.length === 0) return;
  while (!signal.aborted) {
    try {
      let removed = 0;
      let cursor: Cursor | undefined = { rule: 0 };
      while (cursor !== undefined && !signal.aborted && deps.host.owns(...SHARD_NAME)) {
        const done: Step = await step(deps, history, archiveRetention, cursor, removals);
        removed += done.items.length;
        cursor = done.next;
      }
      if (removed > 0) log.info({ removed }, "archived workflows were removed: their time is over");
    } catch (error) {
      log.warn({ err: error }, "archived workflows could not be removed");
    }
    await clock.sleep(deps.host.owns(...SHARD_NAME) ? PAUSE_MS : TURN_MS, signal);
  }
}

interface Step {
  items: ArchivedEntry[];
  next?: Cursor;
}

/** @param removals absent: nothing is removed */
async function step(
  deps: ServiceDeps,
  history: History,
  policies: readonly RetentionPolicy[],
  { rule: at, after }: Cursor,
  removals: Removals | undefined,
): Promise<Step> {
  const policy = policies[at];
  if (policy === undefined) return { items: [] };
  const rule = ruleAt(policy, deps.clock.now());
  if (rule === undefined) return { items: [], next: { rule: at + 1 } };
  const page = await history.archive.expired(rule, PAGE, after);
  const governed = page.items.filter((entry) => governs(policies, at, entry));
  // One that was retried is in the store again; its next end replaces the row.
  const live = await Promise.all(governed.map(({ uid }) => history.live.query.findByUid(uid)));
  const due = governed.filter((_, index) => live[index] === undefined);
  return {
    items: removals === undefined ? due : await removeAll(deps, history, due, removals),
    next: page.next === undefined ? { rule: at + 1 } : { rule: at, after: page.next },
  };
}

/** Gives those that are gone. */
async function removeAll(
  deps: ServiceDeps,
  { archive }: History,
  entries: ArchivedEntry[],
  removals: Removals,
): Promise<ArchivedEntry[]> {
  const editions = await archive.editions(entries.map(({ uid }) => uid));
  // Of those that were deleted before, and of those that another system ran, nothing is left outside that is ours.
  const isBare = ({ uid, labels }: ArchivedEntry) =>
    (editions.get(uid) ?? 0) === 0 || isDeleted(labels, deps.settings.naming);
  const bare = entries.filter(isBare).map(({ uid }) => uid);
  if (bare.length > 0) await archive.remove(bare);
  const others = entries.filter((entry) => !isBare(entry));
  const gone = new Set(
    await removals.removeAll(others, async (entry) => {
      try {
        const how = { forGood: true, sparesReturned: true };
        await withDependents(deps, entry, () => deleteFromArchive(deps, entry, how));
      } catch (error) {
        // One that cannot be read leaves nothing that could be found.
        if (!isProblem(error, ProblemCode.FailedPrecondition)) throw error;
        await archive.remove([entry.uid]);
      }
    }),
  );
  return entries.filter((entry) => isBare(entry) || gone.has(entry));
}

function writeCursor(cursor: Cursor): string {
  return Buffer.from(JSON.stringify(cursor)).toString("base64url");
}

/** @throws {Problem} InvalidArgument */
function readCursor(token: string): Cursor {
  if (token === "") return { rule: 0 };
  const value = parseOrUndefined(Buffer.from(token, "base64url").toString());
  if (isJsonObject(value) && Number.isInteger(value["rule"])) {
    const { rule, after } = value;
    if (after === undefined) return { rule: Number(rule) };
    if (
      isJsonObject(after) && Number.isSafeInteger(after["finishedAt"]) &&
      typeof after["uid"] === "string"
    ) {
      return {
        rule: Number(rule),
        after: { finishedAt: Number(after["finishedAt"]), uid: after["uid"] },
      };
    }
  }
  throw invalid("the continue token is not one that an answer gave; start from the beginning");
}
