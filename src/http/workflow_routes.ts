/** Routes of workflows. */
import type { JsonObject } from "../base/json.ts";
import { writeJson } from "../base/json_text.ts";
import type { ControlRequest } from "../engine/command.ts";
import { Turns } from "../platform/turns.ts";
import { workflowLogs } from "../service/logs.ts";
import { parseTimeText } from "../service/time_text.ts";
import { controlWorkflow, deleteWorkflow } from "../service/workflow_control.ts";
import { createWorkflow } from "../service/workflow_create.ts";
import { lintWorkflow } from "../service/workflow_lint.ts";
import { listWorkflows } from "../service/workflow_list.ts";
import { getWorkflow, type WorkflowRef } from "../service/workflow_reads.ts";
import { resubmitWorkflow } from "../service/workflow_resubmit.ts";
import { submitWorkflow } from "../service/workflow_submit.ts";
import { watchEvents } from "../service/event_stream.ts";
import { type WatchEvent, watchWorkflows } from "../service/workflow_watch.ts";
import type { StructSchema } from "../spec/schema.ts";
import { idempotencyOf } from "./idempotency_header.ts";
import {
  keepsPath,
  parseProjection,
  project,
  type Projection,
  projectionBelow,
} from "./projection.ts";
import { DELETE_OPTIONS, GET_OPTIONS, LIST_OPTIONS } from "./query.ts";
import {
  kindSchema,
  LOG_OPTIONS,
  WORKFLOW_CREATE,
  WORKFLOW_LINT,
  WORKFLOW_RESUBMIT,
  WORKFLOW_RESUME,
  WORKFLOW_RETRY,
  WORKFLOW_SET,
  WORKFLOW_STOP,
  WORKFLOW_SUBMIT,
  WORKFLOW_SUSPEND,
  WORKFLOW_TERMINATE,
  type WorkflowCreateBody,
  type WorkflowLintBody,
  type WorkflowResubmitBody,
  type WorkflowResumeBody,
  type WorkflowRetryBody,
  type WorkflowSetBody,
  type WorkflowStopBody,
  type WorkflowSubmitBody,
} from "./requests.ts";
import { type Call, param, type Route, streaming, unary, type UnaryRoute } from "./route.ts";
import { deleteConditions, listRequest, watchRequest } from "./shared_options.ts";
import { JsonText, type Messages } from "./stream.ts";
import { listWire, workflowWire, workflowWireInTurns } from "./wire.ts";

const WORKFLOWS = "/api/v1/workflows/{namespace}";
const ONE = `${WORKFLOWS}/{name}`;
const tag = "workflows";
const WORKFLOW = kindSchema("Workflow");
const answer = { type: "object", schema: WORKFLOW } as const;

function refOf(call: { params: Record<string, string> }): WorkflowRef {
  return { namespace: param(call, "namespace"), name: param(call, "name") };
}

/** A route that applies a control request and answers with the workflow. */
function control<B>(
  action: string,
  summary: string,
  body: StructSchema,
  request: (body: B) => ControlRequest,
): UnaryRoute {
  return unary<B>({
    method: "PUT",
    path: `${ONE}/${action}`,
    operation: `WorkflowService_${action[0]?.toUpperCase()}${action.slice(1)}Workflow`,
    tag,
    summary,
    body,
    answer,
    run: async (call) =>
      workflowWire(
        await controlWorkflow(
          call.service,
          call.caller,
          refOf(call),
          request(call.body),
          await idempotencyOf(call),
        ),
      ),
  });
}

/** Every route of workflows, in the order in which they are documented. */
export const WORKFLOW_ROUTES: readonly Route[] = [
  unary<WorkflowCreateBody>({
    method: "POST",
    path: WORKFLOWS,
    operation: "WorkflowService_CreateWorkflow",
    tag,
    summary: "Create a workflow from a manifest",
    body: WORKFLOW_CREATE,
    answer,
    run: async (call) => {
      const { workflow, serverDryRun, createOptions } = call.body;
      return workflowWire(
        await createWorkflow(call.service, call.caller, {
          namespace: param(call, "namespace"),
          workflow,
          ...(serverDryRun === true ? { serverDryRun } : {}),
          dryRun: (createOptions?.dryRun ?? []).length > 0,
          idempotency: await idempotencyOf(call),
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
    },
    answer: { type: "list", schema: WORKFLOW },
    run: async (call) => {
      const projection = parseProjection(call.query.fields);
      const page = await listWorkflows(call.service, call.caller, {
        ...listRequest(call),
        ...pick(call.query, "nameFilter", "createdAfter", "finishedBefore"),
        withoutNodes: !keepsPath(projection, "items", "status", "nodes"),
      });
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
    path: ONE,
    operation: "WorkflowService_GetWorkflow",
    tag,
    summary: "Get a workflow; `@latest` is the newest of the namespace",
    query: { ...GET_OPTIONS, fields: "string", uid: "string" },
    answer,
    run: async (call) => {
      const workflow = await getWorkflow(call.service, call.caller, {
        ...refOf(call),
        ...pick(call.query, "uid"),
      });
      const projection = parseProjection(call.query.fields);
      return await workflowWireInTurns(workflow, projection, new Turns());
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
      await deleteWorkflow(call.service, call.caller, refOf(call), {
        ...deleteConditions(call.query),
        ...pick(call.query, "force"),
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
          call.body.workflow,
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
    run: async (call) =>
      workflowWire(
        await submitWorkflow(call.service, call.caller, {
          namespace: param(call, "namespace"),
          resourceKind: call.body.resourceKind ?? "",
          resourceName: call.body.resourceName ?? "",
          options: call.body.submitOptions ?? {},
          idempotency: await idempotencyOf(call),
        }),
      ),
  }),
  control("suspend", "Let no further step begin", WORKFLOW_SUSPEND, () => ({ type: "suspend" })),
  control<WorkflowResumeBody>(
    "resume",
    "Go on after a suspension, or complete the suspended steps that a selector names",
    WORKFLOW_RESUME,
    (body) => ({ type: "resume", ...pick(body, "nodeFieldSelector") }),
  ),
  control<WorkflowStopBody>(
    "stop",
    "End a workflow with its exit handlers, or fail the suspended steps that a selector names",
    WORKFLOW_STOP,
    (body) => ({ type: "stop", ...pick(body, "nodeFieldSelector", "message") }),
  ),
  control("terminate", "End a workflow at once", WORKFLOW_TERMINATE, () => ({ type: "terminate" })),
  control<WorkflowSetBody>(
    "set",
    "Set phase, message or outputs of suspended steps",
    WORKFLOW_SET,
    (body) => ({
      type: "set",
      ...pick(body, "nodeFieldSelector", "message", "phase", "outputParameters"),
    }),
  ),
  control<WorkflowRetryBody>(
    "retry",
    "Run the failed steps of a finished workflow again",
    WORKFLOW_RETRY,
    (body) => ({
      type: "retry",
      ...pick(body, "restartSuccessful", "nodeFieldSelector", "parameters"),
    }),
  ),
  unary<WorkflowResubmitBody>({
    method: "PUT",
    path: `${ONE}/resubmit`,
    operation: "WorkflowService_ResubmitWorkflow",
    tag,
    summary: "Run a workflow again under a new name",
    body: WORKFLOW_RESUBMIT,
    answer,
    run: async (call) =>
      workflowWire(
        await resubmitWorkflow(call.service, call.caller, refOf(call), {
          ...pick(call.body, "memoized", "parameters"),
          idempotency: await idempotencyOf(call),
        }),
      ),
  }),
  streaming({
    method: "GET",
    path: `${ONE}/log`,
    operation: "WorkflowService_WorkflowLogs",
    tag,
    summary: "Log lines of a workflow's steps",
    query: {
      ...LOG_OPTIONS,
      podName: "string",
      grep: "string",
      selector: "string",
      fields: "string",
    },
    answer: { type: "logLine" },
    open: (call) => openLog(call, call.query.podName),
  }),
  streaming({
    method: "GET",
    path: `${ONE}/{podName}/log`,
    operation: "WorkflowService_PodLogs",
    tag,
    summary: "Log lines of one step; use the route above with `podName`",
    query: { ...LOG_OPTIONS, grep: "string", selector: "string", fields: "string" },
    answer: { type: "logLine" },
    open: (call) => openLog(call, param(call, "podName")),
  }),
  streaming({
    method: "GET",
    path: "/api/v1/workflow-events/{namespace}",
    operation: "WorkflowService_WatchWorkflows",
    tag,
    summary: "Watch workflows: what exists first, then every change",
    query: { ...LIST_OPTIONS, fields: "string" },
    answer: { type: "change", schema: WORKFLOW },
    open: async (call) => {
      const projection = parseProjection(call.query.fields);
      const below = projection && projectionBelow(projection, "result", "object");
      const events = await watchWorkflows(
        call.service,
        call.caller,
        watchRequest(call),
        call.signal,
      );
      const messageOf = (event: WatchEvent): JsonObject | JsonText => {
        const { type } = event;
        if (projection !== undefined) return { type, object: workflowWire(event.object(), below) };
        const text = event.textOf((workflow) => writeJson(workflowWire(workflow)));
        return new JsonText(`{"type":"${type}","object":${text}}`);
      };
      return mapStream(events, (some) => some.map(messageOf));
    },
  }),
  streaming({
    method: "GET",
    path: "/api/v1/stream/events/{namespace}",
    operation: "WorkflowService_WatchEvents",
    tag,
    summary: "Watch events about workflows",
    query: LIST_OPTIONS,
    open: (call) => watchEvents(call.service, call.caller, watchRequest(call), call.signal),
  }),
];

interface LogQueryValues {
  grep?: string;
  selector?: string;
  "logOptions.container"?: string;
  "logOptions.follow"?: boolean;
  "logOptions.sinceSeconds"?: number;
  "logOptions.sinceTime"?: string;
  "logOptions.sinceTime.seconds"?: number;
  "logOptions.timestamps"?: boolean;
  "logOptions.tailLines"?: number;
  "logOptions.limitBytes"?: number;
}

async function openLog(
  call: Omit<Call, "query"> & { query: LogQueryValues },
  podName: string | undefined,
): Promise<AsyncIterable<Messages>> {
  const { query } = call;
  const sinceMs = logStart(query, call.service.clock.now());
  const container = query["logOptions.container"] ?? "";
  const entries = await workflowLogs(call.service, call.caller, refOf(call), {
    ...pick(query, "grep", "selector"),
    ...(podName === undefined ? {} : { podName }),
    ...(container === "" ? {} : { container }),
    ...(query["logOptions.follow"] === true ? { follow: true } : {}),
    ...(query["logOptions.timestamps"] === true ? { timestamps: true } : {}),
    ...(sinceMs === undefined ? {} : { sinceMs }),
    ...optional("tailLines", query["logOptions.tailLines"]),
    ...optional("limitBytes", query["logOptions.limitBytes"]),
  }, call.signal);
  return mapStream(entries, ({ content, podName }) => ({ content, podName }));
}

function logStart(query: LogQueryValues, nowMs: number): number | undefined {
  const seconds = query["logOptions.sinceSeconds"];
  if (seconds !== undefined) return nowMs - seconds * 1000;
  const epochSeconds = query["logOptions.sinceTime.seconds"];
  if (epochSeconds !== undefined) return epochSeconds * 1000;
  const text = query["logOptions.sinceTime"] ?? "";
  return text === "" ? undefined : parseTimeText(text);
}

function optional<K extends string, V>(key: K, value: V | undefined): { [P in K]?: V } {
  return value === undefined ? {} : { [key]: value } as { [P in K]?: V };
}

/** The members of an object that are given. */
function pick<T extends object, K extends keyof T>(
  object: T,
  ...keys: K[]
): { [P in K]?: Exclude<T[P], undefined> } {
  const picked: { [P in K]?: Exclude<T[P], undefined> } = {};
  for (const key of keys) {
    const value = object[key];
    if (value !== undefined) picked[key] = value as Exclude<T[K], undefined>;
  }
  return picked;
}

/** A list of which only `metadata` and `items` are projected once more. */
function projectedList(list: JsonObject, projection: Projection | undefined): JsonObject {
  if (projection === undefined) return list;
  const { metadata = {} } = project({ metadata: list.metadata ?? {} }, projection);
  const keepsItems = keepsPath(projection, "items");
  return { metadata, items: keepsItems ? list.items ?? null : null };
}

async function* mapStream<T>(
  source: AsyncIterable<T>,
  change: (value: T) => Messages,
): AsyncIterable<Messages> {
  for await (const value of source) yield change(value);
}
