/** Stored kinds as the commands know them: their operations, and the words for each. */
import { defined } from "../base/defined.ts";
import type { Json, JsonObject } from "../base/json.ts";
import { nearestName } from "../base/nearest_name.ts";
import type { Input } from "../client/client.ts";
import { apiVersionOf, STANDARD_NAMING } from "../spec/naming.ts";
import { type Context, isNotFound } from "./context.ts";
import { metadataOf } from "./manifests.ts";

/**
 * The operations of each kind, the member of create and update bodies that holds the object, and what is deleted with the
 * object.
 */
export const RESOURCES = {
  template: {
    kind: "WorkflowTemplate",
    words: "workflow template",
    member: "template",
    namespaced: true,
    create: "WorkflowTemplateService_CreateWorkflowTemplate",
    update: "WorkflowTemplateService_UpdateWorkflowTemplate",
    get: "WorkflowTemplateService_GetWorkflowTemplate",
    list: "WorkflowTemplateService_ListWorkflowTemplates",
    remove: "WorkflowTemplateService_DeleteWorkflowTemplate",
    lint: "WorkflowTemplateService_LintWorkflowTemplate",
    dependents: "",
  },
  "cluster-template": {
    kind: "ClusterWorkflowTemplate",
    words: "cluster workflow template",
    member: "template",
    namespaced: false,
    create: "ClusterWorkflowTemplateService_CreateClusterWorkflowTemplate",
    update: "ClusterWorkflowTemplateService_UpdateClusterWorkflowTemplate",
    get: "ClusterWorkflowTemplateService_GetClusterWorkflowTemplate",
    list: "ClusterWorkflowTemplateService_ListClusterWorkflowTemplates",
    remove: "ClusterWorkflowTemplateService_DeleteClusterWorkflowTemplate",
    lint: "ClusterWorkflowTemplateService_LintClusterWorkflowTemplate",
    dependents: "",
  },
  cron: {
    kind: "CronWorkflow",
    words: "cron workflow",
    member: "cronWorkflow",
    namespaced: true,
    create: "CronWorkflowService_CreateCronWorkflow",
    update: "CronWorkflowService_UpdateCronWorkflow",
    get: "CronWorkflowService_GetCronWorkflow",
    list: "CronWorkflowService_ListCronWorkflows",
    remove: "CronWorkflowService_DeleteCronWorkflow",
    lint: "CronWorkflowService_LintCronWorkflow",
    dependents: "its workflows",
  },
  binding: {
    kind: "WorkflowEventBinding",
    words: "workflow event binding",
    member: "binding",
    namespaced: true,
    create: "EventService_CreateWorkflowEventBinding",
    update: "EventService_UpdateWorkflowEventBinding",
    get: "EventService_GetWorkflowEventBinding",
    list: "EventService_ListWorkflowEventBindings",
    remove: "EventService_DeleteWorkflowEventBinding",
    lint: "EventService_LintWorkflowEventBinding",
    dependents: "",
  },
  subscription: {
    kind: "Subscription",
    words: "subscription",
    member: "subscription",
    namespaced: true,
    create: "SubscriptionService_CreateSubscription",
    update: "SubscriptionService_UpdateSubscription",
    get: "SubscriptionService_GetSubscription",
    list: "SubscriptionService_ListSubscriptions",
    remove: "SubscriptionService_DeleteSubscription",
    lint: "SubscriptionService_LintSubscription",
    dependents: "",
  },
} as const;

/** A word of the command line for a stored kind. */
export type ResourceWord = keyof typeof RESOURCES;
export type Resource = typeof RESOURCES[ResourceWord];

export const RESOURCE_WORDS = Object.keys(RESOURCES) as readonly ResourceWord[];

/** The stored kind of a manifest; undefined for workflows and unknown kinds. */
export function resourceOf(kind: Json | undefined): Resource | undefined {
  return Object.values(RESOURCES).find((resource) => resource.kind === kind);
}

/** Kinds of the reference that are like ours and stand beside them. */
const OTHER_KINDS = ["WorkflowTaskSet", "WorkflowTaskResult", "WorkflowArtifactGCTask"];

/** All kinds of manifests. */
export const ALL_KINDS: readonly string[] = [
  "Workflow",
  ...Object.values(RESOURCES).map(({ kind }) => kind),
];

/** The API groups of manifests: the usual one, and those in which some of these objects are manifests. */
export function ownGroups(objects: readonly JsonObject[]): ReadonlySet<string> {
  const ours = objects.filter(({ kind }) => ALL_KINDS.includes(String(kind)));
  return new Set([STANDARD_NAMING.apiGroup, ...ours.map(groupOf)]);
}

function groupOf({ apiVersion = apiVersionOf(STANDARD_NAMING) }: JsonObject): string {
  return String(apiVersion).split("/")[0] ?? "";
}

/** The kind that a misspelt one was meant to be. Objects of other API groups are none of ours. */
export function meantKind(object: JsonObject, groups: ReadonlySet<string>): string | undefined {
  const { kind } = object;
  if (typeof kind !== "string" || !groups.has(groupOf(object))) return undefined;
  const meant = nearestName(kind, [...ALL_KINDS, ...OTHER_KINDS]);
  return meant !== undefined && meant !== kind && ALL_KINDS.includes(meant) ? meant : undefined;
}

/**
 * What is said of an object of another program, which often stands beside manifests: both `lint` and `apply` leave it out, so
 * that one does not refuse what the other lets pass. Undefined for manifests, and for what was meant to be one.
 */
export function leftOut(object: JsonObject, groups: ReadonlySet<string>): string | undefined {
  const { kind } = object;
  if (isNoObject(object)) {
    return "what has no kind, metadata or spec is left out: it is for another program";
  }
  if (typeof kind !== "string" || ALL_KINDS.includes(kind)) return undefined;
  if (meantKind(object, groups) !== undefined) return undefined;
  return `${kind} ${JSON.stringify(metadataOf(object)["name"] ?? "")} is left out: ` +
    (kind === "ConfigMap"
      ? '"sluice migrate argo -f FILE --apply" imports those'
      : "it is for another program");
}

/** Tells whether nothing says that it is an object of a cluster: folders hold settings of other programs, too. */
export function isNoObject({ apiVersion, kind, metadata, spec }: JsonObject): boolean {
  return [apiVersion, kind, metadata, spec].every((member) => member === undefined);
}

/** The body of a create or update. The object is sent as it was written; the server checks it. */
export function bodyOf(
  { member }: Resource,
  namespace: string,
  object: JsonObject,
): NonNullable<Input<Resource["create"]>["body"]> {
  return { namespace, [member]: object };
}

/** An answer without its type. */
export function asJson(object: unknown): JsonObject {
  return object as JsonObject;
}

/** The namespace an object names, or the command's. */
export function namespaceOf(object: JsonObject, context: Context): string {
  return String(metadataOf(object)["namespace"] ?? context.namespace);
}

/** All objects of a namespace, or of all namespaces. A server ends a page that is full, also when no limit was asked for. */
export async function listAll(
  { client }: Pick<Context, "client">,
  resource: Resource,
  namespace: string,
  selector?: string,
): Promise<JsonObject[]> {
  const items: JsonObject[] = [];
  let next: string | undefined;
  do {
    const page = await client.call(resource.list, {
      params: { namespace },
      query: { "listOptions.labelSelector": selector, "listOptions.continue": next },
    });
    items.push(...(page.items ?? []).map(asJson));
    next = page.metadata?.continue;
  } while (next !== undefined && next !== "");
  return items;
}

/** Creates an object. @returns it as it is stored */
export async function createObject(
  context: Context,
  resource: Resource,
  object: JsonObject,
): Promise<JsonObject> {
  const namespace = namespaceOf(object, context);
  return asJson(
    await context.client.call(resource.create, {
      params: { namespace },
      body: bodyOf(resource, namespace, object),
    }),
  );
}

/** Replaces the object of the same name, whatever its version and its uid are. @returns it as it is stored */
export async function updateObject(
  context: Context,
  resource: Resource,
  object: JsonObject,
): Promise<JsonObject> {
  const namespace = namespaceOf(object, context);
  const params = { namespace, name: String(metadataOf(object)["name"] ?? "") };
  const stored = await context.client.call(resource.get, { params });
  const { uid, resourceVersion } = stored.metadata;
  const next = {
    ...object,
    metadata: { ...metadataOf(object), ...defined({ uid, resourceVersion }) },
  };
  const body = bodyOf(resource, namespace, next);
  return asJson(await context.client.call(resource.update, { params, body }));
}

/** Updates the object, or creates it if it does not exist. */
export async function applyObject(
  context: Context,
  resource: Resource,
  object: JsonObject,
): Promise<{ made: JsonObject; done: "created" | "updated" }> {
  try {
    return { made: await updateObject(context, resource, object), done: "updated" };
  } catch (error) {
    if (!isNotFound(error)) throw error;
    return { made: await createObject(context, resource, object), done: "created" };
  }
}
