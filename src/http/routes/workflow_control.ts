/** Routes for what users do with a workflow: suspend, resume, stop, terminate, set, retry, resubmit. */
import { defined } from "../../base/defined.ts";
import type { ControlRequest } from "../../engine/command.ts";
import { makeCallbacks } from "../../service/callbacks/make.ts";
import { controlWorkflow } from "../../service/workflows/control.ts";
import { planRetry } from "../../service/workflows/retry_plan.ts";
import { resubmitWorkflow } from "../../service/workflows/resubmit.ts";
import type { Workflow } from "../../spec/manifest.ts";
import type { StructSchema } from "../../spec/schema/schema.ts";
import { idempotencyOf } from "../idempotency_header.ts";
import {
  CALLBACK_MAKE,
  type CallbackMakeBody,
  kindSchema,
  WORKFLOW_RESUBMIT,
  WORKFLOW_RESUME,
  WORKFLOW_RETRY,
  WORKFLOW_SET,
  WORKFLOW_STOP,
  WORKFLOW_SUSPEND,
  WORKFLOW_TERMINATE,
  type WorkflowResubmitBody,
  type WorkflowResumeBody,
  type WorkflowRetryBody,
  type WorkflowSetBody,
  type WorkflowStopBody,
} from "../requests.ts";
import { type Route, unary, type UnaryRoute } from "../route.ts";
import { changedWire } from "../wire.ts";
import { workflowRef } from "./shared_options.ts";
import { causeOf, originOf } from "./trace_header.ts";

const ONE = "/api/v1/workflows/{namespace}/{name}";
const tag = "workflows";
const answer = { type: "object", schema: kindSchema("Workflow") } as const;

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
    hasMinimal: true,
    run: async (call) => {
      const key = idempotencyOf(call);
      const order = request(call.body);
      const ref = workflowRef(call);
      const changed = await controlWorkflow(call.service, call.caller, ref, order, {
        idempotency: key && await key,
        isBrief: call.isMinimal,
        cause: causeOf(call),
      });
      if (isAboutTheEnd(order) && isHeld(changed)) {
        call.warn("the workflow is suspended: it ends when it is resumed");
      }
      return changedWire(call, changed);
    },
  });
}

/** Whether an order is to end the whole workflow. */
function isAboutTheEnd(order: ControlRequest): boolean {
  return order.type === "terminate" ||
    (order.type === "stop" && (order.nodeFieldSelector ?? "") === "");
}

/** Whether it ends only when it is resumed, as in the reference: whoever stops it should know. */
function isHeld({ spec, status }: Workflow): boolean {
  return spec.suspend === true && (status?.finishedAt ?? null) === null;
}

function retryOptions({ restartSuccessful, nodeFieldSelector, parameters }: WorkflowRetryBody) {
  return defined({ restartSuccessful, nodeFieldSelector, parameters });
}

/** Every route that controls workflows. */
export const WORKFLOW_CONTROL_ROUTES: readonly Route[] = [
  control("suspend", "Start no further steps", WORKFLOW_SUSPEND, () => ({ type: "suspend" })),
  control<WorkflowResumeBody>(
    "resume",
    "Go on after a suspension, or complete the suspended steps that a selector names",
    WORKFLOW_RESUME,
    ({ nodeFieldSelector }) => ({ type: "resume", ...defined({ nodeFieldSelector }) }),
  ),
  control<WorkflowStopBody>(
    "stop",
    "End a workflow with its exit handlers, or fail the suspended steps that a selector names",
    WORKFLOW_STOP,
    ({ nodeFieldSelector, message }) => ({
      type: "stop",
      ...defined({ nodeFieldSelector, message }),
    }),
  ),
  control("terminate", "End a workflow at once", WORKFLOW_TERMINATE, () => ({ type: "terminate" })),
  control<WorkflowSetBody>(
    "set",
    "Set phase, message or outputs of suspended steps",
    WORKFLOW_SET,
    ({ nodeFieldSelector, message, phase, outputParameters }) => ({
      type: "set",
      ...defined({ nodeFieldSelector, message, phase, outputParameters }),
    }),
  ),
  control<WorkflowRetryBody>(
    "retry",
    "Run the failed steps of a finished workflow again",
    WORKFLOW_RETRY,
    (body) => ({ type: "retry", ...retryOptions(body) }),
  ),
  unary<WorkflowRetryBody>({
    method: "POST",
    path: `${ONE}/retry/plan`,
    operation: "WorkflowService_PlanRetry",
    tag,
    summary: "Which steps a retry would run again; nothing is changed",
    body: WORKFLOW_RETRY,
    run: (call) =>
      planRetry(call.service, call.caller, workflowRef(call), {
        type: "retry",
        ...retryOptions(call.body),
      }),
  }),
  unary<CallbackMakeBody>({
    method: "POST",
    path: `${ONE}/callbacks`,
    operation: "WorkflowService_MakeCallbacks",
    tag,
    summary: "Make URLs that end the wait of the steps that a selector names, now or later",
    body: CALLBACK_MAKE,
    run: (call) => makeCallbacks(call.service, call.caller, workflowRef(call), call.body),
  }),
  unary<WorkflowResubmitBody>({
    method: "PUT",
    path: `${ONE}/resubmit`,
    operation: "WorkflowService_ResubmitWorkflow",
    tag,
    summary: "Run a workflow again under a new name",
    body: WORKFLOW_RESUBMIT,
    answer,
    hasMinimal: true,
    run: async (call) => {
      const { memoized, parameters } = call.body;
      return changedWire(
        call,
        await resubmitWorkflow(call.service, call.caller, workflowRef(call), {
          ...defined({ memoized, parameters }),
          idempotency: await idempotencyOf(call),
          trace: originOf(call),
        }),
      );
    },
  }),
];
