/** The kinds of manifests that are stored: how each is read and written, and where its pages are. */
import type {
  ClusterWorkflowTemplate,
  CronWorkflow,
  WorkflowEventBinding,
  WorkflowTemplate,
} from "../../../../spec/manifest.ts";
import { ClientError } from "../../../../client/transport.ts";
import { isSameShown, type StoredObject, withKept } from "../../model/edited.ts";
import { bindingPath, cronPath, type StoredKindName, templatePath } from "../../paths.ts";
import { TEXTS } from "../../texts.ts";
import { api } from "../../data/api.ts";
import { readTemplate } from "../../data/templates.ts";

export interface StoredPlace {
  /** "" for a kind of the whole cluster. */
  namespace: string;
  name: string;
}

/** A kind; the objects of a call are those that it reads. */
export interface StoredKind {
  isOfCluster: boolean;
  /** Of the page of one. */
  path(place: StoredPlace): string;
  read(place: StoredPlace, signal?: AbortSignal): Promise<StoredObject>;
  create(namespace: string, object: unknown): Promise<StoredObject>;
  update(place: StoredPlace, object: unknown): Promise<StoredObject>;
  lint(namespace: string, object: unknown): Promise<unknown>;
}

export const STORED_KINDS: Readonly<Record<StoredKindName, StoredKind>> = {
  WorkflowTemplate: {
    isOfCluster: false,
    path: ({ namespace, name }) => templatePath(namespace, name),
    read: readTemplate,
    create: (namespace, object) =>
      api.call("WorkflowTemplateService_CreateWorkflowTemplate", {
        params: { namespace },
        body: { template: object as WorkflowTemplate },
      }),
    update: (params, object) =>
      api.call("WorkflowTemplateService_UpdateWorkflowTemplate", {
        params: { ...params },
        body: { template: object as WorkflowTemplate },
      }),
    lint: (namespace, object) =>
      api.call("WorkflowTemplateService_LintWorkflowTemplate", {
        params: { namespace },
        body: { template: object as WorkflowTemplate },
      }),
  },
  ClusterWorkflowTemplate: {
    isOfCluster: true,
    path: ({ name }) => templatePath("", name),
    read: readTemplate,
    create: (_, object) =>
      api.call("ClusterWorkflowTemplateService_CreateClusterWorkflowTemplate", {
        body: { template: object as ClusterWorkflowTemplate },
      }),
    update: ({ name }, object) =>
      api.call("ClusterWorkflowTemplateService_UpdateClusterWorkflowTemplate", {
        params: { name },
        body: { template: object as ClusterWorkflowTemplate },
      }),
    lint: (_, object) =>
      api.call("ClusterWorkflowTemplateService_LintClusterWorkflowTemplate", {
        body: { template: object as ClusterWorkflowTemplate },
      }),
  },
  CronWorkflow: {
    isOfCluster: false,
    path: ({ namespace, name }) => cronPath(namespace, name),
    read: ({ namespace, name }, signal) =>
      api.call("CronWorkflowService_GetCronWorkflow", { params: { namespace, name }, signal }),
    create: (namespace, object) =>
      api.call("CronWorkflowService_CreateCronWorkflow", {
        params: { namespace },
        body: { cronWorkflow: object as CronWorkflow },
      }),
    update: (params, object) =>
      api.call("CronWorkflowService_UpdateCronWorkflow", {
        params: { ...params },
        body: { cronWorkflow: object as CronWorkflow },
      }),
    lint: (namespace, object) =>
      api.call("CronWorkflowService_LintCronWorkflow", {
        params: { namespace },
        body: { cronWorkflow: object as CronWorkflow },
      }),
  },
  WorkflowEventBinding: {
    isOfCluster: false,
    path: ({ namespace, name }) => bindingPath(namespace, name),
    read: ({ namespace, name }, signal) =>
      api.call("EventService_GetWorkflowEventBinding", { params: { namespace, name }, signal }),
    create: (namespace, object) =>
      api.call("EventService_CreateWorkflowEventBinding", {
        params: { namespace },
        body: { binding: object as WorkflowEventBinding },
      }),
    update: (params, object) =>
      api.call("EventService_UpdateWorkflowEventBinding", {
        params: { ...params },
        body: { binding: object as WorkflowEventBinding },
      }),
    lint: (namespace, object) =>
      api.call("EventService_LintWorkflowEventBinding", {
        params: { namespace },
        body: { binding: object as WorkflowEventBinding },
      }),
  },
};

/** Another has changed it. */
function isConflict(error: unknown): boolean {
  return error instanceof ClientError && error.status === 409;
}

/** The server changes the status of a cron workflow with each run, which is no reason to refuse an edit. */
const ATTEMPTS = 3;

/**
 * Stores an edited manifest.
 * @param stored what it was edited from
 * @throws {Error} when somebody else has changed it since, or it is refused
 */
export async function storeEdited(
  kind: StoredKind,
  place: StoredPlace,
  edited: StoredObject,
  stored: StoredObject,
): Promise<void> {
  let latest = stored;
  for (let attempt = 1;; attempt++) {
    try {
      await kind.update(place, withKept(edited, latest));
      return;
    } catch (error) {
      if (!isConflict(error) || attempt === ATTEMPTS) throw error;
      latest = await kind.read(place);
      if (!isSameShown(latest, stored)) throw new Error(TEXTS.edit.conflict.refused);
    }
  }
}
