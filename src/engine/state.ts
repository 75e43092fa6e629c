/** A workflow in memory: its stored records, what is derived from them, and what has changed since the last commit. */
import type { WorkflowSpec } from "../spec/manifest.ts";
import type { Effect } from "./effect.ts";
import type { ManifestRef } from "./engine.ts";
import type { NodeOrder, Retrying } from "./ongoing.ts";
import type { PartSizes } from "./part_sizes.ts";
import type { Header, NodeRecord, StoredSpecs } from "./records.ts";
import type { Runtime } from "./runtime.ts";

/** A workflow in memory. It belongs to one caller, who changes it in place. */
export interface WorkflowState {
  header: Header;
  specs: StoredSpecs;
  nodes: Map<string, NodeRecord>;
  runtime: Runtime;
  pending: Pending;
  sizes: PartSizes;
  /** What the index entry says about `waitsSince`. */
  shownWait: number | undefined | "unknown";
  /** A manual retry that is under way. The workflow does nothing else until it is done. */
  retrying?: Retrying;
  /** Requests about many nodes that are under way. The workflow does nothing else until they are done. */
  orders?: NodeOrder[];
}

/** Changes since the last `takeChanges`. */
export interface Pending {
  header: boolean;
  specs: boolean;
  index: boolean;
  /** A manual retry has begun or ended. */
  retrying: boolean;
  /** Requests about many nodes have come in or moved on. */
  orders: boolean;
  /** Those among them that were dropped since are not stored. */
  nodes: NodeRecord[];
  /** Texts of nodes among them that were made ahead. Undefined: none. */
  texts: Map<NodeRecord, string> | undefined;
  /** Undefined: none. */
  dropped: Map<string, NodeRecord> | undefined;
  effects: Effect[];
  /** Nodes with a new phase whose metrics have not been observed yet; a node may stand here twice. */
  phased: string[];
  /** Attempts that are followed by others, whose metrics have not been observed yet. */
  retried: NodeRecord[];
  /** Manifests that must be loaded, by kind, namespace and name. Undefined: none. */
  needs: Map<string, ManifestRef> | undefined;
}

/** Nothing has changed since the last call of `takeChanges`. */
export function emptyPending(): Pending {
  return {
    header: false,
    specs: false,
    index: false,
    retrying: false,
    orders: false,
    nodes: [],
    texts: undefined,
    dropped: undefined,
    effects: [],
    phased: [],
    retried: [],
    needs: undefined,
  };
}

/** The name of the workflow; "" when its metadata has none. */
export function workflowName(state: WorkflowState): string {
  return state.header.metadata.name ?? "";
}

/** The namespace of the workflow; "" when its metadata has none. */
export function workflowNamespace(state: WorkflowState): string {
  return state.header.metadata.namespace ?? "";
}

/** The spec that is carried out: merged with the workflow template, if the workflow refers to one. */
export function executedSpec(state: WorkflowState): WorkflowSpec {
  return state.specs.storedWorkflowTemplateSpec ?? state.specs.spec;
}

/** The node of the entrypoint, whose name is that of the workflow; undefined before it is made. */
export function rootOf(state: WorkflowState): NodeRecord | undefined {
  return state.runtime.root ??= state.nodes.get(workflowName(state));
}
