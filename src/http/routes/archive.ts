/** Routes of archived workflows. */
import type { JsonObject } from "../../base/json.ts";
import { defined } from "../../base/defined.ts";
import {
  archivedLabelKeys,
  archivedLabelValues,
  type ArchivedRef,
  deleteArchived,
  getArchived,
  listArchived,
  resubmitArchived,
  retryArchived,
} from "../../service/workflows/archive.ts";
import { countDays } from "../../service/history/day_counts.ts";
import { pruneArchive } from "../../service/history/retention.ts";
import { idempotencyOf } from "../idempotency_header.ts";
import { LIST_OPTIONS } from "../query.ts";
import {
  ARCHIVE_PRUNE,
  ARCHIVED_RESUBMIT,
  ARCHIVED_RETRY,
  type ArchivedName,
  kindSchema,
  type PruneBody,
  type WorkflowResubmitBody,
  type WorkflowRetryBody,
} from "../requests.ts";
import { param, type Route, unary } from "../route.ts";
import { listRequest } from "./shared_options.ts";
import { originOf } from "./trace_header.ts";
import { changedWire, listWire, warnOfArchive, wholeWire, workflowWire } from "../wire.ts";

const LIST = "/api/v1/archived-workflows";
const ONE = `${LIST}/{uid}`;
const tag = "archived workflows";
const schema = kindSchema("Workflow");
const service = "ArchivedWorkflowService";

function refOf(
  call: { params: Record<string, string> },
  { name, namespace }: ArchivedName,
): ArchivedRef {
  return { uid: param(call, "uid"), ...defined({ name, namespace }) };
}

/** Every route of archived workflows. */
export const ARCHIVE_ROUTES: readonly Route[] = [
  unary({
    method: "GET",
    path: LIST,
    operation: `${service}_ListArchivedWorkflows`,
    tag,
    summary: "List archived workflows",
    query: {
      ...LIST_OPTIONS,
      namespace: "string",
      namePrefix: "string",
      nameFilter: "string",
      exactTimes: "bool",
    },
    answer: { type: "list", schema },
    run: async (call) => {
      const { namespace = "", namePrefix = "", nameFilter = "", exactTimes = false } = call.query;
      const page = await listArchived(call.service, call.caller, {
        ...listRequest(call),
        namespace,
        namePrefix,
        nameFilter,
        exactTimes,
      });
      warnOfArchive(call, page);
      const list = listWire(page.items.map((item) => workflowWire(item)), page);
      return call.service.settings.archive ? list : { ...list, metadata: {} };
    },
  }),
  unary({
    method: "GET",
    path: ONE,
    operation: `${service}_GetArchivedWorkflow`,
    tag,
    summary: "Get an archived workflow by its uid, or by name and namespace when the uid is empty",
    query: { namespace: "string", name: "string", exactTimes: "bool" },
    answer: { type: "object", schema },
    run: async (call) => {
      const ref = refOf(call, call.query);
      return wholeWire(
        await getArchived(call.service, call.caller, ref, call.query.exactTimes),
      );
    },
  }),
  unary({
    method: "DELETE",
    path: ONE,
    operation: `${service}_DeleteArchivedWorkflow`,
    tag,
    summary: "Delete an archived workflow",
    query: { namespace: "string", name: "string" },
    answer: { type: "empty" },
    run: async (call) => {
      await deleteArchived(call.service, call.caller, refOf(call, call.query));
      return {};
    },
  }),
  unary<WorkflowRetryBody & ArchivedName>({
    method: "PUT",
    path: `${ONE}/retry`,
    operation: `${service}_RetryArchivedWorkflow`,
    tag,
    summary: "Run the failed steps of an archived workflow again",
    body: ARCHIVED_RETRY,
    answer: { type: "object", schema },
    hasMinimal: true,
    run: async (call) => {
      const { restartSuccessful, nodeFieldSelector, parameters } = call.body;
      const request = defined({ restartSuccessful, nodeFieldSelector, parameters });
      const ref = refOf(call, call.body);
      const key = await idempotencyOf(call);
      return changedWire(call, await retryArchived(call.service, call.caller, ref, request, key));
    },
  }),
  unary<WorkflowResubmitBody & ArchivedName>({
    method: "PUT",
    path: `${ONE}/resubmit`,
    operation: `${service}_ResubmitArchivedWorkflow`,
    tag,
    summary: "Run an archived workflow again under a new name",
    body: ARCHIVED_RESUBMIT,
    answer: { type: "object", schema },
    hasMinimal: true,
    run: async (call) => {
      const { memoized, parameters } = call.body;
      const request = {
        ...defined({ memoized, parameters }),
        idempotency: await idempotencyOf(call),
        trace: originOf(call),
      };
      const ref = refOf(call, call.body);
      return changedWire(call, await resubmitArchived(call.service, call.caller, ref, request));
    },
  }),
  unary({
    method: "GET",
    path: "/api/v1/archived-workflows-counts",
    operation: `${service}_CountArchivedWorkflows`,
    tag,
    summary: "How many archived workflows ended on each day, by namespace, phase and template",
    query: { namespace: "string", from: "string", to: "string" },
    run: async (call): Promise<JsonObject> => {
      const counts = await countDays(call.service, call.caller, call.query);
      return { items: counts.map((count) => ({ ...count })) };
    },
  }),
  unary<PruneBody>({
    method: "POST",
    path: "/api/v1/archived-workflows-prune",
    operation: `${service}_PruneArchivedWorkflows`,
    tag,
    summary: "Remove some of the archived workflows whose time is over; go on with `continue`",
    body: ARCHIVE_PRUNE,
    run: async (call): Promise<JsonObject> => {
      const pruned = await pruneArchive(call.service, call.caller, call.body);
      const items = pruned.items.map(({ uid, namespace, name, phase, finishedAt }) => ({
        uid,
        namespace,
        name,
        phase,
        finishedAt: new Date(finishedAt).toISOString(),
      }));
      return { items, ...defined({ continue: pruned.continue }) };
    },
  }),
  unary({
    method: "GET",
    path: "/api/v1/archived-workflows-label-keys",
    operation: `${service}_ListArchivedWorkflowLabelKeys`,
    tag,
    summary: "Label keys of archived workflows",
    query: { namespace: "string" },
    run: async (call) => {
      const { namespace = "" } = call.query;
      const items = await archivedLabelKeys(call.service, call.caller, namespace);
      return items.length > 0 ? { items } : {};
    },
  }),
  unary({
    method: "GET",
    path: "/api/v1/archived-workflows-label-values",
    operation: `${service}_ListArchivedWorkflowLabelValues`,
    tag,
    summary: "Values of the label key that `listOptions.labelSelector` names",
    query: { ...LIST_OPTIONS, namespace: "string" },
    requiredQuery: ["listOptions.labelSelector"],
    run: async (call) => {
      const { namespace = "", "listOptions.labelSelector": selector = "" } = call.query;
      const items = await archivedLabelValues(call.service, call.caller, namespace, selector);
      return items.length > 0 ? { items } : {};
    },
  }),
];
