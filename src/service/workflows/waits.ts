/** Whether a step of a workflow waits, or waited before a change of it. */
import { isJsonObject } from "../../base/json.ts";
import { parseOrUndefined } from "../../base/json_text.ts";
import { rfc3339WithMs } from "../../engine/scope/time_text.ts";
import type { Workflow } from "../../spec/manifest.ts";
import { type Change, NODE_PART_PREFIX } from "../../store/port.ts";

/** Since when the step waits that a part holds; undefined when it holds none that waits. */
function waitOf(key: string, text: string): number | undefined {
  // Most parts need not be parsed.
  if (!key.startsWith(NODE_PART_PREFIX) || !text.includes('"Suspend"')) return undefined;
  const node = parseOrUndefined(text);
  if (!isJsonObject(node) || node["type"] !== "Suspend" || node["phase"] !== "Running") {
    return undefined;
  }
  return Number(node["startedAt"]);
}

/** Since when each of the steps waits that parts hold, epoch ms. */
export function waitsIn(parts: Record<string, string>): number[] {
  return Object.entries(parts).flatMap(([key, text]) => waitOf(key, text) ?? []);
}

/** Tells whether a step waited before a change. A change does not always say which index entry it replaced. */
export function waitedBefore({ type, index, indexBefore, before, put }: Change): boolean {
  if (type === "ADDED") return false;
  if (indexBefore !== undefined) return indexBefore.waitsSince !== undefined;
  const since = index?.waitsSince;
  if (type === "DELETED" || before === undefined) return since !== undefined;
  if (waitsIn(before).length > 0) return true;
  // The step that waits longest began to wait with this change, or was left as it was.
  return since !== undefined && !waitsIn(put).includes(since);
}

/** A workflow that says since when a step of it waits. @param since epoch ms; undefined: none waits */
export function withWait(workflow: Workflow, since: number | undefined): Workflow {
  const { status } = workflow;
  if (since === undefined || status === undefined) return workflow;
  return { ...workflow, status: { ...status, waitsSince: rfc3339WithMs(since) } };
}
