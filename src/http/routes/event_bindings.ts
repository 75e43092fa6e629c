/** Routes of event bindings. */
import { getManifest } from "../../service/manifests/reads.ts";
import { BINDING_WRITE, type BindingBody } from "../requests.ts";
import type { Route } from "../route.ts";
import { manifestWire } from "../wire.ts";
import { manifestRoutes } from "./manifest_routes.ts";

/** Every route of event bindings. */
export const EVENT_BINDING_ROUTES: readonly Route[] = manifestRoutes({
  kind: "WorkflowEventBinding",
  path: "/api/v1/workflow-event-bindings/{namespace}",
  service: "EventService",
  tag: "event bindings",
  words: "event binding",
  write: BINDING_WRITE,
  objectOf: ({ binding }: BindingBody) => binding,
  get: (deps, caller, namespace, name) =>
    getManifest(deps, caller, "WorkflowEventBinding", namespace, name),
  wire: manifestWire,
});
