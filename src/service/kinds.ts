/** The kinds of objects that the API serves, as error texts and access rules name them. */
import { ManifestKind } from "../spec/manifest.ts";
import type { ResourceKind } from "./object_names.ts";

export const WORKFLOW: ResourceKind = resource("Workflow", "workflows");

/** How the deployment is. */
export const SYSTEM: ResourceKind = resource("System", "system");

/** Keys of callback URLs. */
export const CALLBACK_KEYS: ResourceKind = resource("CallbackKey", "callbackkeys");

/** Resource of a stored manifest kind. */
export const MANIFEST_RESOURCES: Readonly<Record<ManifestKind, ResourceKind>> = {
  WorkflowTemplate: resource("WorkflowTemplate", "workflowtemplates"),
  ClusterWorkflowTemplate: resource("ClusterWorkflowTemplate", "clusterworkflowtemplates"),
  CronWorkflow: resource("CronWorkflow", "cronworkflows"),
  WorkflowEventBinding: resource("WorkflowEventBinding", "workfloweventbindings"),
  Subscription: resource("Subscription", "subscriptions"),
  ConfigMap: { kind: "ConfigMap", resource: "configmaps", group: "" },
  Secret: { kind: "Secret", resource: "secrets", group: "" },
  WaitingCallback: resource("WaitingCallback", "waitingcallbacks"),
  DeletedOwner: resource("DeletedOwner", "deletedowners"),
  Event: { kind: "Event", resource: "events", group: "" },
  ServiceAccount: { kind: "ServiceAccount", resource: "serviceaccounts", group: "" },
};

function resource(kind: string, plural: string): ResourceKind {
  return { kind, resource: plural };
}
