/**
 * What the engine wants done outside. Effects are data with a stable id, so doing one twice has the effect of doing it once.
 */
import type { Notice } from "./notice.ts";
import type { Artifact, Template, WorkflowSpec } from "../spec/manifest.ts";

/** One execution of a template, with everything that an executor needs. Its tags are filled in. */
export interface TaskSpec {
  /** Stable id `<workflow uid>/<node id>/<n>`. `n` counts the starts of this node, from 1; a manual retry starts it again. */
  id: string;
  namespace: string;
  workflow: string;
  workflowUid: string;
  nodeId: string;
  nodeName: string;
  displayName: string;
  /** Kubernetes pod name (v2 naming). */
  podName: string;
  /** A container, script, containerSet, resource, data, http or plugin template. */
  template: Template;
  /** The standard output is wanted as `outputs.result`. */
  includeResult: boolean;
  /** Epoch ms after which the executor must end the task, with an outcome that is late. */
  deadline?: number;
  /** Pod settings of the workflow (volumes, service account, pod metadata, …): its spec without templates. Empty for http. */
  podSpec: Omit<WorkflowSpec, "templates">;
  /** Where output artifacts without a location go, below the namespace: `<workflow>/<pod>`. */
  artifactPrefix: string;
  /** Hosts of failed attempts to avoid. */
  avoidHosts?: string[];
  archiveLogs?: boolean;
  /** Keys of inputs that belong to the workflow although they do not begin with its namespace. */
  formerKeys?: string[];
  /** Seals the marks of callbacks that the template may hold, see `writeMark`. Executors don't get it. */
  callbackSecret?: string;
  /** W3C Trace Context for the step, whether its spans are wanted or not. Absent: nothing is traced. */
  traceparent?: string;
  tracestate?: string;
}

/** Artifacts that a workflow gives up, and what says where they are. */
export interface UnwantedArtifacts {
  artifacts: Artifact[];
  repositoryRef?: NonNullable<WorkflowSpec["artifactRepositoryRef"]>;
  /** Keys among them that belong to the workflow although they do not begin with its namespace. */
  formerKeys?: string[];
}

export type Effect =
  | { type: "start-task"; id: string; task: TaskSpec }
  /** End a task. Its node has ended already, so its outcome is ignored. The reason is for the log. */
  | { type: "cancel-task"; id: string; task: string; reason: string }
  /** Set a durable timer, which fires a `timer-fired` fact with this id. Setting it again moves it. */
  | { type: "set-timer"; id: string; at: number }
  | { type: "clear-timer"; id: string }
  /** Take all keys or none. The answer is `locks-granted` or `locks-waiting`. Holder: see `lockHolder`. */
  | {
    type: "acquire-locks";
    id: string;
    holder: string;
    keys: LockKey[];
    priority: number;
    createdAt: number;
  }
  | { type: "release-locks"; id: string; holder: string }
  /** Give back everything that a workflow and its nodes hold or wait for. */
  | { type: "release-all-locks"; id: string; namespace: string; workflow: string; uid: string }
  | {
    type: "save-memo";
    id: string;
    namespace: string;
    configMap: string;
    key: string;
    entry: string;
  }
  /** Remove pods and scratch folders of finished tasks. */
  | { type: "clean-tasks"; id: string; tasks: string[]; delayMs: number }
  | { type: "collect-artifacts"; id: string; strategy: string } & UnwantedArtifacts
  /**
   * Remove what the nodes of a deleted workflow have left outside, a few nodes at a time, and then the nodes themselves,
   * which the store keeps under the name `remains`.
   */
  | {
    type: "sweep-remains";
    id: string;
    remains: string;
    uid: string;
    /** The workflow's strategy for artifacts without one of their own. */
    artifactGc?: unknown;
    namespace: string;
    workflow: string;
    /** `spec.artifactRepositoryRef`. */
    repositoryRef?: UnwantedArtifacts["repositoryRef"];
  }
  /** Drop the nodes of a workflow that has moved to the archive, which the store keeps under the name `remains`. */
  | { type: "drop-remains"; id: string; remains: string }
  /** Remove a workflow from the archive that has just been deleted. */
  | { type: "forget-archived"; id: string; uid: string; delayMs: number }
  /** Remove the volume claims of the workflow. */
  | {
    type: "remove-claims";
    id: string;
    namespace: string;
    workflow: string;
    workflowUid: string;
    names: string[];
  }
  /** Delete the workflow: its `ttlStrategy` asks for that. */
  | { type: "delete-workflow"; id: string }
  /** Tell of a change; only if the environment asks for that. */
  | { type: "notice"; id: string; notice: Notice }
  /** Report the value of a metric. Not repeated after a crash. */
  | { type: "observe-metric"; id: string; sample: MetricSample };

/** One value for a metric that a manifest defines. */
export interface MetricSample {
  type: "gauge" | "counter" | "histogram";
  /** The name in the manifest, without a prefix. */
  name: string;
  help: string;
  labels: Record<string, string>;
  value: number;
  /** Of a gauge: how the value changes it. */
  operation?: "Set" | "Add" | "Sub";
  /** Of a real-time gauge that is still running: epoch ms from which it counts seconds. */
  since?: number;
  /** Of a real-time gauge: who starts and ends it. */
  key?: string;
  /** Of a histogram: upper bounds of its buckets. */
  buckets?: number[];
}

export interface LockKey {
  kind: "mutex" | "semaphore";
  /** `<namespace>/Mutex/<name>`, `<namespace>/ConfigMap/<config map>/<key>` or `<namespace>/Database/<key>`. */
  key: string;
  /** Semaphore size; 1 for a mutex. */
  limit: number;
}
