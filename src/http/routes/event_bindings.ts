/** Routes of event bindings. */
import type { Json, JsonObject } from "../../base/json.ts";
import { type BindingActivity, bindingActivity } from "../../service/events/binding_activity.ts";
import { testBinding } from "../../service/events/preview.ts";
import { getManifest } from "../../service/manifests/reads.ts";
import type { WorkflowEventBinding } from "../../spec/manifest.ts";
import {
  closed,
  json,
  list,
  map,
  string,
  struct,
  type StructSchema,
} from "../../spec/schema/schema.ts";
import { BINDING_BODIES, type BindingBody, kindSchema } from "../requests.ts";
import { param, type Route, unary } from "../route.ts";
import { manifestWire } from "../wire.ts";
import { manifestRoutes } from "./manifest_routes.ts";

const BINDINGS = "/api/v1/workflow-event-bindings/{namespace}";

interface TestBody {
  event?: { discriminator?: string; payload?: Json; metadata?: Record<string, string[]> };
  binding?: WorkflowEventBinding;
  name?: string;
}
const TEST_EVENT = struct("TestEvent", () => ({
  discriminator: string,
  payload: json,
  metadata: map(list(string)),
}));
/** A payload in the wrong place would test another event, so unknown members are refused. */
const TEST: StructSchema = closed(struct("TestWorkflowEventBindingRequest", () => ({
  namespace: string,
  event: closed(TEST_EVENT),
  binding: kindSchema("WorkflowEventBinding"),
  name: string,
}), "event"));

/** Every route of event bindings. */
export const EVENT_BINDING_ROUTES: readonly Route[] = [
  ...manifestRoutes({
    kind: "WorkflowEventBinding",
    path: BINDINGS,
    service: "EventService",
    tag: "event bindings",
    words: "event binding",
    bodies: BINDING_BODIES,
    objectOf: ({ binding }: BindingBody) => binding,
    get: (deps, caller, namespace, name) =>
      getManifest(deps, caller, "WorkflowEventBinding", namespace, name),
    wire: manifestWire,
  }),
  unary<TestBody>({
    method: "POST",
    path: `${BINDINGS}/test`,
    operation: "EventService_TestWorkflowEventBinding",
    tag: "event bindings",
    summary: "Say what a given or a stored event binding would do with an event, without doing it",
    body: TEST,
    holdsEvent: true,
    run: async (call) => {
      const { event = {}, binding, name } = call.body;
      const { discriminator = "", payload = null, metadata = {} } = event;
      const tested = name === undefined || name === "" ? { ...(binding && { binding }) } : { name };
      const previews = await testBinding(call.service, call.caller, {
        namespace: param(call, "namespace"),
        discriminator,
        payload,
        metadata,
      }, tested);
      return { previews: previews as unknown as Json };
    },
  }),
  unary({
    method: "GET",
    path: "/api/v1/event-binding-activity/{namespace}",
    operation: "EventService_GetEventBindingActivity",
    tag: "event bindings",
    summary: "Say what event bindings have done with the newest events",
    run: async (call) => {
      const namespace = param(call, "namespace");
      const { bindings, looked, since } = await bindingActivity(
        call.service,
        call.caller,
        namespace,
      );
      return {
        bindings: bindings.map(activityWire),
        looked,
        ...(since !== undefined && { since: new Date(since).toISOString() }),
      };
    },
  }),
];

function activityWire({ lastMatch, lastError, ...rest }: BindingActivity): JsonObject {
  return {
    ...rest,
    ...(lastMatch && { lastMatch: deedWire(lastMatch) }),
    ...(lastError && { lastError: deedWire(lastError) }),
  };
}

function deedWire(
  { receivedAt, ...deed }: NonNullable<BindingActivity["lastMatch"]>,
): JsonObject {
  return { ...deed, receivedAt: new Date(receivedAt).toISOString() };
}
