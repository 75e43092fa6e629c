/** Stored templates, of a namespace or of the whole cluster. */
import type { WorkflowTemplate } from "../../../spec/manifest.ts";
import { api } from "./api.ts";

/** Where a template is. */
export interface TemplatePlace {
  /** "": of the whole cluster. */
  namespace: string;
  name: string;
}

/** Reads a template. @throws {ClientError} as the server refuses it */
export function readTemplate(
  { namespace, name }: TemplatePlace,
  signal?: AbortSignal,
): Promise<WorkflowTemplate> {
  return namespace === ""
    ? api.call("ClusterWorkflowTemplateService_GetClusterWorkflowTemplate", {
      params: { name },
      signal,
    })
    : api.call("WorkflowTemplateService_GetWorkflowTemplate", {
      params: { namespace, name },
      signal,
    });
}
