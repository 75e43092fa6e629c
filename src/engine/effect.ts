/**
 * What the engine wants done outside. Effects are data with a stable id, so that doing one twice is doing it once.
 */
import type { Artifact, Template, WorkflowSpec } from "../spec/manifest.ts";

/** One execution of a leaf template. Everything an executor needs, already substituted. */
export interface TaskSpec {
  /** Stable id: `<workflow uid>/<node id>/<n>`; `n` counts starts of this node (manual retries), from 1. */
  id: string;
  namespace: string;
  workflow: string;
  workflowUid: string;
  nodeId: string;
  nodeName: string;
  displayName: string;
  /** Kubernetes pod name (v2 naming). */
  podName: string;
  /** The resolved template: container, script, containerSet, resource, data, http or plugin. */
  template: Template;
  /** Stdout is wanted as `outputs.result`. */
  includeResult: boolean;
  /** Epoch ms after which the task must be ended with the deadline message. */
  deadline?: number;
  deadlineMessage?: string;
  /** Spec-level pod settings (volumes, service account, pod metadata, …): the executable spec without templates. */
  podSpec: Omit<WorkflowSpec, "templates">;
  /** Where output artifacts without a location of their own go, below the namespace: `<workflow>/<pod>`. */
  artifactPrefix: string;
  labels?: Record<string, string>;
  /** Hosts of failed attempts to avoid. */
  avoidHosts?: string[];
  archiveLogs?: boolean;
  /** Keys of inputs that are the workflow's although they don't begin with its namespace. */
  formerKeys?: string[];
}

/** Artifacts that a workflow gives up, and what tells where they are. */
export interface UnwantedArtifacts {
  artifacts: Artifact[];
  repositoryRef?: NonNullable<WorkflowSpec["artifactRepositoryRef"]>;
  /** Keys among them that are the workflow's although they don't begin with its namespace. */
  formerKeys?: string[];
}

export type Effect =
  | { type: "start-task"; id: string; task: TaskSpec }
  /** End a task; its node is already settled, so its outcome is ignored. `reason` for the log. */
  | { type: "cancel-task"; id: string; task: string; reason: string }
  /** Durable timer; fires a `timer-fired` fact with this id. Setting it again moves it. */
  | { type: "set-timer"; id: string; at: number }
  | { type: "clear-timer"; id: string }
  /** All keys together or none; answered by locks-granted, locks-waiting or locks-failed. `holder`: see `lockHolder`. */
  | {
    type: "acquire-locks";
    id: string;
    holder: string;
    keys: LockKey[];
    priority: number;
    createdAt: number;
  }
  | { type: "release-locks"; id: string; holder: string }
  /** Give back everything that a workflow and its nodes have or wait for. */
  | { type: "release-all-locks"; id: string; namespace: string; workflow: string; uid: string }
  | {
    type: "save-memo";
    id: string;
    namespace: string;
    configMap: string;
    key: string;
    entry: string;
  }
  /** Remove pods/scratch of finished tasks as podGC says. */
  | { type: "clean-tasks"; id: string; tasks: string[]; delayMs: number }
  | { type: "collect-artifacts"; id: string; strategy: string } & UnwantedArtifacts
  /**
   * Look after what the nodes of a removed workflow have left outside, a few at a time, then drop the nodes, which the store
   * has under the name `remains`.
   */
  | {
    type: "sweep-remains";
    id: string;
    remains: string;
    uid: string;
    /** Strategy of the workflow for artifacts that have none of their own. */
    artifactGc?: unknown;
    namespace: string;
    workflow: string;
    /** `spec.artifactRepositoryRef`. */
    repositoryRef?: UnwantedArtifacts["repositoryRef"];
  }
  /** Remove the volume claims that were made for the workflow. */
  | {
    type: "remove-claims";
    id: string;
    namespace: string;
    workflow: string;
    workflowUid: string;
    names: string[];
  }
  /** The workflow deletes itself (ttlStrategy). */
  | { type: "delete-workflow"; id: string }
  /** Tell those who measure; not repeated after a crash. */
  | { type: "observe-metric"; id: string; sample: MetricSample };

/** One value for a metric that a manifest defines. */
export interface MetricSample {
  type: "gauge" | "counter" | "histogram";
  /** As in the manifest, without a prefix. */
  name: string;
  help: string;
  labels: Record<string, string>;
  value: number;
  /** Of a gauge: what to do with the value it has. */
  operation?: "Set" | "Add" | "Sub";
  /** Of a real-time gauge that still counts: epoch ms from which it counts seconds. */
  since?: number;
  /** Of a real-time gauge: who began it, and ends it. */
  key?: string;
  /** Of a histogram: upper bounds. */
  buckets?: number[];
}

export interface LockKey {
  kind: "mutex" | "semaphore";
  /** `<ns>/Mutex/<name>`, `<ns>/ConfigMap/<cm>/<key>`, `<ns>/Database/<key>`. */
  key: string;
  /** Semaphore size; 1 for a mutex. */
  limit: number;
}
