/** Workflows as answers show them; most are for those who were not told when their command was applied. */
import { defined } from "../../base/defined.ts";
import { loadWithoutNodes, loadWorkflow } from "../../engine/codec.ts";
import { asideHeader } from "../../engine/life/put_aside.ts";
import type { WorkflowState } from "../../engine/state.ts";
import { viewWorkflow } from "../../engine/view.ts";
import type { Workflow } from "../../spec/manifest.ts";
import type { StoredActor } from "../../store/port.ts";
import type { Version } from "../../store/version.ts";

/** A workflow of more parts is shown without its nodes. */
const MOST_PARTS = 10_000;

/** Loads a stored workflow. Of one that was put aside it reads only what is sure to be readable. */
export function load({ parts }: StoredActor): WorkflowState {
  return asideHeader(parts["h"]) === undefined ? loadWorkflow(parts) : loadWithoutNodes(parts);
}

/** A stored workflow as an answer shows it; a large one without its nodes. */
export function viewStored(parts: StoredActor["parts"]): Workflow {
  const isLarge = Object.keys(parts).length > MOST_PARTS;
  return isLarge
    ? viewWorkflow(loadWithoutNodes(parts), { withoutNodes: true })
    : viewWorkflow(loadWorkflow(parts));
}

/** Which workflow it is, and nothing more. */
export function named({ header: { metadata: { name, namespace, uid } } }: WorkflowState): Workflow {
  return { metadata: defined({ name, namespace, uid }), spec: {} };
}

/** The same workflow with the version that a commit gave to it. */
export function withVersion(workflow: Workflow, resourceVersion: Version): Workflow {
  return { ...workflow, metadata: { ...workflow.metadata, resourceVersion } };
}
