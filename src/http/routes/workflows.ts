/** Routes that create, read, check and delete workflows. */
import { defined } from "../../base/defined.ts";
import type { JsonObject } from "../../base/json.ts";
import { Turns } from "../../platform/turns.ts";
import { deleteWorkflow } from "../../service/workflows/control.ts";
import { countWorkflows } from "../../service/workflows/counts.ts";
import { createWorkflow } from "../../service/workflows/create.ts";
import { lintWorkflow } from "../../service/workflows/lint.ts";
import { listWorkflows } from "../../service/workflows/list.ts";
import { getWorkflow } from "../../service/workflows/reads.ts";
import { submitWorkflow } from "../../service/workflows/submit.ts";
import { idempotencyOf } from "../idempotency_header.ts";
import {
  keepsPath,
  parseProjection,
  project,
  type Projection,
  projectionBelow,
} from "../projection.ts";
import { DELETE_OPTIONS, GET_OPTIONS, LIST_OPTIONS } from "../query.ts";
import {
  isDryRun,
  kindSchema,
  WORKFLOW_CREATE,
  WORKFLOW_LINT,
  WORKFLOW_SUBMIT,
  type WorkflowCreateBody,
  type WorkflowLintBody,
  type WorkflowSubmitBody,
} from "../requests.ts";
import { param, type Route, unary } from "../route.ts";
import {
  changedWire,
  listWire,
  showsNodes,
  warnOfArchive,
  wholeWire,
  workflowWire,
  workflowWireInTurns,
} from "../wire.ts";
import { deleteConditions, listRequest, ofKind, workflowRef } from "./shared_options.ts";
import { originOf } from "./trace_header.ts";

const WORKFLOWS = "/api/v1/workflows/{namespace}";
const ONE = `${WORKFLOWS}/{name}`;
const tag = "workflows";
const WORKFLOW = kindSchema("Workflow");
const answer = { type: "object", schema: WORKFLOW } as const;

/** Every route that creates, reads, checks or deletes workflows. */
export const WORKFLOW_ROUTES: readonly Route[] = [
  unary<WorkflowCreateBody>({
    method: "POST",
    path: WORKFLOWS,
    operation: "WorkflowService_CreateWorkflow",
    tag,
    summary: "Create a workflow from a manifest",
    body: WORKFLOW_CREATE,
    answer,
    hasMinimal: true,
    run: async (call) => {
      const { serverDryRun } = call.body;
      const workflow = ofKind("Workflow", call.body.workflow, call.warn);
      return changedWire(
        call,
        await createWorkflow(call.service, call.caller, {
          namespace: param(call, "namespace"),
          workflow,
          serverDryRun,
          dryRun: isDryRun(call.body),
          idempotency: await idempotencyOf(call),
          trace: originOf(call),
        }),
      );
    },
  }),
  unary({
    method: "GET",
    path: WORKFLOWS,
    operation: "WorkflowService_ListWorkflows",
    tag,
    summary: "List workflows",
    query: {
      ...LIST_OPTIONS,
      fields: "string",
      nameFilter: "string",
      createdAfter: "string",
      finishedBefore: "string",
      parameter: "string",
      waiting: "bool",
      exactTimes: "bool",
      waits: "bool",
    },
    answer: { type: "list", schema: WORKFLOW },
    run: async (call) => {
      const { fields, nameFilter, createdAfter, finishedBefore, parameter } = call.query;
      const { waiting, exactTimes, waits } = call.query;
      const projection = parseProjection(fields);
      const page = await listWorkflows(call.service, call.caller, {
        ...listRequest(call),
        ...defined({ nameFilter, createdAfter, finishedBefore, parameter }),
        ...defined({ waiting, exactTimes, waits }),
        withoutNodes: !keepsPath(projection, "items", "status", "nodes"),
      });
      warnOfArchive(call, page);
      const below = projection && projectionBelow(projection, "items");
      const items: JsonObject[] = [];
      const turns = new Turns();
      for (const item of page.items) {
        items.push(await workflowWireInTurns(item, below, turns));
        await turns.pause();
      }
      return projectedList(listWire(items, page), projection);
    },
  }),
  unary({
    method: "GET",
    path: "/api/v1/workflow-counts/{namespace}",
    operation: "WorkflowService_CountWorkflows",
    tag,
    summary: "How many workflows of each phase were created when",
    query: {
      ...LIST_OPTIONS,
      nameFilter: "string",
      createdAfter: "string",
      finishedBefore: "string",
      waiting: "bool",
      bars: "int32",
    },
    run: async (call) => {
      const { nameFilter, createdAfter, finishedBefore, waiting: isWaiting, bars } = call.query;
      const counts = await countWorkflows(call.service, call.caller, {
        ...listRequest(call),
        ...defined({ nameFilter, createdAfter, finishedBefore, bars, waiting: isWaiting }),
      });
      warnOfArchive(call, counts);
      const { from, span, phases, waiting, waitingSpans, examined } = counts;
      return {
        from: new Date(from).toISOString().replace(".000", ""),
        spanSeconds: span / 1_000,
        phases,
        ...defined({ waiting, waitingSpans, examined }),
      };
    },
  }),
  unary({
    method: "GET",
    path: ONE,
    operation: "WorkflowService_GetWorkflow",
    tag,
    summary: "Get a workflow; `@latest` is the newest of the namespace",
    query: { ...GET_OPTIONS, fields: "string", uid: "string", exactTimes: "bool", waits: "bool" },
    answer,
    run: async (call) => {
      const { fields, uid, exactTimes, waits } = call.query;
      const projection = parseProjection(fields);
      const ref = { ...workflowRef(call), ...defined({ uid }) };
      const workflow = await getWorkflow(call.service, call.caller, ref, {
        withoutNodes: !showsNodes(projection),
        ...defined({ exactTimes, waits }),
      });
      return projection === undefined
        ? wholeWire(workflow)
        : await workflowWireInTurns(workflow, projection, new Turns());
    },
  }),
  unary({
    method: "DELETE",
    path: ONE,
    operation: "WorkflowService_DeleteWorkflow",
    tag,
    summary: "Delete a workflow",
    query: { ...DELETE_OPTIONS, force: "bool" },
    answer: { type: "empty" },
    run: async (call) => {
      await deleteWorkflow(call.service, call.caller, workflowRef(call), {
        ...deleteConditions(call.query),
        ...defined({ force: call.query.force }),
      });
      return {};
    },
  }),
  unary<WorkflowLintBody>({
    method: "POST",
    path: `${WORKFLOWS}/lint`,
    operation: "WorkflowService_LintWorkflow",
    tag,
    summary: "Check a workflow without creating it",
    body: WORKFLOW_LINT,
    answer,
    run: async (call) =>
      workflowWire(
        await lintWorkflow(
          call.service,
          call.caller,
          param(call, "namespace"),
          ofKind("Workflow", call.body.workflow, call.warn),
        ),
      ),
  }),
  unary<WorkflowSubmitBody>({
    method: "POST",
    path: `${WORKFLOWS}/submit`,
    operation: "WorkflowService_SubmitWorkflow",
    tag,
    summary: "Create a workflow from a template or a cron workflow",
    body: WORKFLOW_SUBMIT,
    answer,
    hasMinimal: true,
    run: async (call) => {
      const { resourceKind = "", resourceName = "", submitOptions = {} } = call.body;
      const key = idempotencyOf(call);
      return changedWire(
        call,
        await submitWorkflow(call.service, call.caller, {
          namespace: param(call, "namespace"),
          resourceKind,
          resourceName,
          options: submitOptions,
          idempotency: key && await key,
          trace: originOf(call),
        }),
      );
    },
  }),
];

/** The projection of a list. Its items have been projected already. */
function projectedList(list: JsonObject, projection: Projection | undefined): JsonObject {
  if (projection === undefined) return list;
  const { metadata = {} } = project({ metadata: list.metadata ?? {} }, projection);
  const keepsItems = keepsPath(projection, "items");
  return { metadata, items: keepsItems ? list.items ?? null : null };
}
