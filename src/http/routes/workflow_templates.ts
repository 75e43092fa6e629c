/** Routes of workflow templates. */
import { getTemplate } from "../../service/manifests/reads.ts";
import { TEMPLATE_BODIES, type TemplateBody } from "../requests.ts";
import type { Route } from "../route.ts";
import { manifestWire } from "../wire.ts";
import { manifestRoutes } from "./manifest_routes.ts";

/** Every route of workflow templates. */
export const WORKFLOW_TEMPLATE_ROUTES: readonly Route[] = manifestRoutes({
  kind: "WorkflowTemplate",
  path: "/api/v1/workflow-templates/{namespace}",
  service: "WorkflowTemplateService",
  tag: "workflow templates",
  words: "workflow template",
  bodies: TEMPLATE_BODIES,
  objectOf: ({ template }: TemplateBody) => template,
  get: (deps, caller, namespace, name) =>
    getTemplate(deps, caller, "WorkflowTemplate", namespace, name),
  wire: manifestWire,
});
