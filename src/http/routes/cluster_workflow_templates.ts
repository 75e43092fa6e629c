/** Routes of cluster workflow templates. */
import { getTemplate } from "../../service/manifests/reads.ts";
import { CLUSTER_TEMPLATE_BODIES, type TemplateBody } from "../requests.ts";
import type { Route } from "../route.ts";
import { manifestWire } from "../wire.ts";
import { manifestRoutes } from "./manifest_routes.ts";

/** Every route of cluster workflow templates. */
export const CLUSTER_WORKFLOW_TEMPLATE_ROUTES: readonly Route[] = manifestRoutes({
  kind: "ClusterWorkflowTemplate",
  path: "/api/v1/cluster-workflow-templates",
  service: "ClusterWorkflowTemplateService",
  tag: "cluster workflow templates",
  words: "cluster workflow template",
  bodies: CLUSTER_TEMPLATE_BODIES,
  objectOf: ({ template }: TemplateBody) => template,
  get: (deps, caller, namespace, name) =>
    getTemplate(deps, caller, "ClusterWorkflowTemplate", namespace, name),
  wire: manifestWire,
});
