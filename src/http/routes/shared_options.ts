/** Parameters and options that many routes share: from path and query to requests. */
import { defined } from "../../base/defined.ts";
import type { DeleteRequest } from "../../service/deletions.ts";
import type { WorkflowRef } from "../../service/workflows/reads.ts";
import type { WatchRequest } from "../../service/workflows/watch.ts";
import { type DELETE_OPTIONS, type LIST_OPTIONS, type QueryValues } from "../query.ts";
import { param } from "../route.ts";

/** The workflow that a path names. */
export function workflowRef(call: { params: Record<string, string> }): WorkflowRef {
  return { namespace: param(call, "namespace"), name: param(call, "name") };
}

export type ListOptionValues = QueryValues<typeof LIST_OPTIONS>;

/** Namespace, selectors and paging of a list. */
export function listRequest(
  call: { params: Record<string, string>; query: ListOptionValues },
): {
  namespace: string;
  labelSelector?: string;
  fieldSelector?: string;
  limit?: number;
  continue?: string;
} {
  const { query } = call;
  return {
    namespace: param(call, "namespace"),
    labelSelector: query["listOptions.labelSelector"] ?? "",
    fieldSelector: query["listOptions.fieldSelector"] ?? "",
    limit: query["listOptions.limit"] ?? 0,
    continue: query["listOptions.continue"] ?? "",
  };
}

/** What a watch asks for. */
export function watchRequest(
  call: { params: Record<string, string>; query: ListOptionValues },
): WatchRequest {
  const { query } = call;
  return {
    namespace: param(call, "namespace"),
    labelSelector: query["listOptions.labelSelector"] ?? "",
    fieldSelector: query["listOptions.fieldSelector"] ?? "",
    resourceVersion: query["listOptions.resourceVersion"] ?? "",
    timeoutSeconds: query["listOptions.timeoutSeconds"] ?? 0,
  };
}

/** Conditions of a deletion. */
export function deleteConditions(query: QueryValues<typeof DELETE_OPTIONS>): DeleteRequest {
  const uid = query["deleteOptions.preconditions.uid"];
  const resourceVersion = query["deleteOptions.preconditions.resourceVersion"];
  return defined({
    dryRun: query["deleteOptions.dryRun"],
    propagationPolicy: query["deleteOptions.propagationPolicy"],
    orphanDependents: query["deleteOptions.orphanDependents"],
    uid,
    resourceVersion,
  });
}

/** Warns whoever gives an object that calls itself something else: as in the reference it is taken for one of the route's kind. */
export function ofKind<T extends object>(
  kind: string,
  object: T | undefined,
  warn: (text: string) => void,
): T | undefined {
  const { kind: named = "" } = (object ?? {}) as { kind?: string };
  if (named !== "" && named !== kind) {
    const shown = /^\w{1,64}$/.test(named) ? `a ${named}` : "something else";
    warn(`the object says that it is ${shown}; this path takes it as a ${kind}`);
  }
  return object;
}
