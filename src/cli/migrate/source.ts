/** Where an installation of Argo Workflows is read from, page by page. */
import type { JsonObject } from "../../base/json.ts";

/** The ConfigMap with the settings of the controller, unless it was started with another. */
export const CONTROLLER_CONFIG = "workflow-controller-configmap";
/** ConfigMap of a namespace with its artifact repositories. */
export const ARTIFACT_REPOSITORIES = "artifact-repositories";
/** Label of the ConfigMaps that workflows take parameters from, or memoize in. */
export const CONFIG_TYPE_LABEL = "workflows.argoproj.io/configmap-type";
/** Label of what belongs to one of several controllers. */
export const INSTANCE_LABEL = "workflows.argoproj.io/controller-instanceid";

/** What is wanted of an installation. */
export interface Selection {
  /** Group of the workflow kinds. */
  apiGroup: string;
  /** Name of the ConfigMap with the settings of the controller. */
  controllerConfig: string;
  /** Absent: all namespaces. */
  namespace?: string;
  /** Only objects of the controller with this instance id. @default whatever theirs is */
  instanceId?: string;
  /** Workflows too. @default false */
  withWorkflows?: boolean;
}

/** An installation, or its files. Pages come one after another, so that one is in memory at a time. */
export interface Source {
  /** For messages: `the cluster https://…`, `files`. */
  readonly name: string;
  /** Everything but workflows: templates, cron workflows, bindings, and the ConfigMaps that can be told without them. */
  manifests(): AsyncIterable<JsonObject[]>;
  /** Workflows in any phase. */
  workflows(): AsyncIterable<JsonObject[]>;
  /** A ConfigMap that a manifest names; undefined when there is none. */
  configMap(namespace: string, name: string): Promise<JsonObject | undefined>;
  /** Secrets and service accounts that may mean something to Argo Workflows, without what is in the Secrets. */
  accounts(): AsyncIterable<JsonObject[]>;
  close(): void;
}

/** What a source tells beside its objects. */
export interface SourceListener {
  /** A part of the installation cannot be read, and why; the rest goes on. */
  trouble(what: string, why: string): void;
  /** Something that would not be imported anyway could not be looked at. */
  unseen(what: string, why: string): void;
}
