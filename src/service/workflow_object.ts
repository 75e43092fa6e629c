/**
 * Workflow objects of the cluster, the pure part: what is read of one, whose it is, and the patch that shows a workflow's
 * state in it. Every patch names the version of the object that it is based on, so that of two writers one begins anew.
 */
import { isJsonObject, type Json, type JsonObject } from "../base/json.ts";
import type { ClusterObject } from "../kubernetes/cluster_object.ts";
import type { Workflow, WorkflowSpec } from "../spec/manifest.ts";
import { apiVersionOf, type Naming } from "../spec/naming.ts";

/** Annotation that says which store runs the object, and how much of it has been taken over and shown. */
export const RUN_ANNOTATION = "sluice.dev/run";
/** Label of workflows that were made from objects: lists find them by it. */
export const SOURCE_LABEL = "sluice.dev/source";
export const SOURCE = "kubernetes";
/** Another label of theirs: the object's uid, which is the workflow's too. A copy of the labels makes no such workflow. */
export const OBJECT_LABEL = "sluice.dev/object";
/** Left out of workflows: a copy of the whole object. */
const LAST_APPLIED = "kubectl.kubernetes.io/last-applied-configuration";

/** What the annotation says. */
export interface RunNote {
  /** The store that runs it. */
  store: string;
  /** `spec.suspend` and `spec.shutdown` as they were last taken over: `switchText`. */
  spec: string;
  /** Version of the workflow whose state the object shows; "" for none. */
  version: string;
}

/** What is kept of an object while it is watched. */
export interface ObjectFacts {
  namespace: string;
  name: string;
  uid: string;
  /** The object's resourceVersion. */
  version: string;
  phase: string;
  isCompleted: boolean;
  run: RunNote | undefined;
  suspend: boolean;
  /** "" | "Stop" | "Terminate" */
  shutdown: string;
  hasLabels: boolean;
  hasAnnotations: boolean;
  /** Given to another controller. */
  isForeign: boolean;
  isDeleting: boolean;
}

const COMPLETED: ReadonlySet<string> = new Set(["Succeeded", "Failed", "Error"]);

/**
 * Reads an object; whatever is malformed counts as absent.
 * @param labelPrefix of the label by which objects are given to another controller
 */
export function factsOf(object: ClusterObject, labelPrefix: string): ObjectFacts {
  const { namespace = "", name, uid, resourceVersion, labels, annotations, deletionTimestamp } =
    object.metadata;
  const spec = isJsonObject(object.spec) ? object.spec : {};
  const status = isJsonObject(object.status) ? object.status : {};
  const phase = typeof status["phase"] === "string" ? status["phase"] : "";
  const { shutdown } = spec;
  return {
    namespace,
    name,
    uid,
    version: resourceVersion,
    phase,
    isCompleted: COMPLETED.has(phase),
    run: parseNote(annotations?.[RUN_ANNOTATION]),
    suspend: spec["suspend"] === true,
    shutdown: typeof shutdown === "string" ? shutdown : "",
    hasLabels: labels !== undefined,
    hasAnnotations: annotations !== undefined,
    isForeign: (labels?.[`${labelPrefix}controller-instanceid`] ?? "") !== "",
    isDeleting: deletionTimestamp !== undefined,
  };
}

function parseNote(text: string | undefined): RunNote | undefined {
  if (text === undefined) return undefined;
  try {
    const { store, spec, version } = JSON.parse(text) as Partial<RunNote>;
    return typeof store === "string"
      ? { store, spec: String(spec ?? ""), version: String(version ?? "") }
      : undefined;
  } catch {
    return undefined;
  }
}

/** `spec.suspend` and `spec.shutdown` in one text. */
export function switchText(
  { suspend, shutdown }: { suspend?: boolean; shutdown?: string },
): string {
  return `${suspend === true}/${shutdown ?? ""}`;
}

/** What an edit of an object asks of its workflow. */
export type EditCommand = "suspend" | "unsuspend" | "stop" | "terminate";

/** What somebody changed in the spec since it was last taken over. Only what can be asked of a running workflow. */
export function editsOf({ suspend, shutdown, run }: ObjectFacts): EditCommand[] {
  if (run === undefined) return [];
  const [suspendBefore, shutdownBefore] = run.spec.split("/");
  const edits: EditCommand[] = [];
  if (String(suspend) !== suspendBefore) edits.push(suspend ? "suspend" : "unsuspend");
  if (shutdown !== shutdownBefore) {
    if (shutdown === "Stop") edits.push("stop");
    if (shutdown === "Terminate") edits.push("terminate");
  }
  return edits;
}

/** Tells whether what the object asks for has been taken over. */
export function isTakenOver(facts: ObjectFacts): boolean {
  return facts.run?.spec === switchText(facts);
}

/** What is to be done about an object that was listed, but has no workflow. */
export type WithoutWorkflow = "run" | "remove" | "lost" | "leave";

/**
 * An object that this store has never run is run; one that it did run, to the end, was deleted here since; one that it ran
 * and lost is told so.
 */
export function withoutWorkflow(facts: ObjectFacts, store: string): WithoutWorkflow {
  if (facts.isForeign || facts.isDeleting) return "leave";
  if (facts.run === undefined) return facts.phase === "" ? "run" : "leave";
  if (facts.run.store !== store) return "leave";
  if (facts.phase === "") return "run";
  return facts.isCompleted ? "remove" : "lost";
}

/** The object as a manifest to run: without what only the cluster may know. */
export function manifestOf(object: ClusterObject, naming: Naming): JsonObject {
  const { name, namespace, uid, labels, annotations, ...rest } = object
    .metadata as unknown as JsonObject;
  const { [LAST_APPLIED]: _applied, [RUN_ANNOTATION]: _run, ...kept } =
    (annotations ?? {}) as JsonObject;
  const owners = rest["ownerReferences"];
  return {
    apiVersion: apiVersionOf(naming),
    kind: "Workflow",
    metadata: {
      name: name ?? "",
      namespace: namespace ?? "",
      labels: {
        ...(labels as JsonObject | undefined),
        [SOURCE_LABEL]: SOURCE,
        [OBJECT_LABEL]: uid ?? "",
      },
      ...(Object.keys(kept).length === 0 ? {} : { annotations: kept }),
      ...(owners === undefined ? {} : { ownerReferences: owners }),
    },
    spec: object.spec ?? {},
  };
}

/** Tells whether a workflow was made from an object of the cluster. */
export function isFromObject(index: { uid?: string; labels?: Record<string, string> }): boolean {
  return index.uid !== undefined && index.labels?.[OBJECT_LABEL] === index.uid;
}

type Operation =
  | { op: "add" | "replace" | "test"; path: string; value: Json }
  | { op: "remove"; path: string };

/** Operations that set labels or annotations, also where there are none yet. */
function setAll(
  path: string,
  exists: boolean,
  values: Readonly<Record<string, string>>,
): Operation[] {
  const entries = Object.entries(values);
  if (entries.length === 0) return [];
  if (!exists) return [{ op: "add", path, value: { ...values } }];
  return entries.map(([key, value]) => ({
    op: "add",
    path: `${path}/${key.replaceAll("~", "~0").replaceAll("/", "~1")}`,
    value,
  }));
}

function head(facts: ObjectFacts): Operation[] {
  return [{ op: "replace", path: "/metadata/resourceVersion", value: facts.version }];
}

/** A JSON patch that marks the object as run by a store. */
export function claimPatch(facts: ObjectFacts, store: string): JsonObject[] {
  const note: RunNote = { store, spec: switchText(facts), version: "" };
  return [
    ...head(facts),
    ...setAll("/metadata/annotations", facts.hasAnnotations, {
      [RUN_ANNOTATION]: JSON.stringify(note),
    }),
  ] as unknown as JsonObject[];
}

export interface ShownState {
  /** As it is stored now. */
  workflow: Workflow;
  /** What of it is shown: `fitStatus`. */
  status: JsonObject;
  /** Version of the workflow. */
  version: string;
  store: string;
  labelPrefix: string;
}

/** A JSON patch that shows a workflow's state in its object, and its switches as they are. */
export function statusPatch(facts: ObjectFacts, shown: ShownState): JsonObject[] {
  const { workflow, status, version, store, labelPrefix } = shown;
  const { spec } = workflow;
  const note: RunNote = { store, spec: switchText(spec), version };
  return [
    ...head(facts),
    { op: "add", path: "/status", value: status },
    ...setAll("/metadata/labels", facts.hasLabels, shownMap(workflow, "labels", labelPrefix)),
    ...setAll("/metadata/annotations", facts.hasAnnotations, {
      ...shownMap(workflow, "annotations", labelPrefix),
      [RUN_ANNOTATION]: JSON.stringify(note),
    }),
    ...switchOperations(facts, spec),
  ] as unknown as JsonObject[];
}

function switchOperations(facts: ObjectFacts, spec: WorkflowSpec): Operation[] {
  const operations: Operation[] = [];
  const { suspend = false, shutdown = "" } = spec;
  if (suspend !== facts.suspend) {
    operations.push({ op: "add", path: "/spec/suspend", value: suspend });
  }
  if (shutdown !== facts.shutdown) {
    operations.push(
      shutdown === ""
        ? { op: "remove", path: "/spec/shutdown" }
        : { op: "add", path: "/spec/shutdown", value: shutdown },
    );
  }
  return operations;
}

/** Labels or annotations that the service decides: those under its prefix, and those that the spec asks for. */
function shownMap(
  { metadata, spec, status }: Workflow,
  which: "labels" | "annotations",
  prefix: string,
): Record<string, string> {
  const asked = [spec.workflowMetadata, status?.storedWorkflowTemplateSpec?.workflowMetadata];
  const wanted = new Set(asked.flatMap((one) => [
    ...Object.keys(one?.[which] ?? {}),
    ...(which === "labels" ? Object.keys(one?.labelsFrom ?? {}) : []),
  ]));
  return Object.fromEntries(
    Object.entries(metadata[which] ?? {})
      .filter(([key]) => key.startsWith(prefix) || wanted.has(key)),
  );
}

/** A JSON patch that ends an object which never became a workflow, or whose workflow was lost. */
export function endPatch(
  facts: ObjectFacts,
  end: { phase: "Failed" | "Error"; message: string; at: string; labelPrefix: string },
): JsonObject[] {
  const { phase, message, at, labelPrefix } = end;
  const status: JsonObject = {
    phase,
    message,
    startedAt: at,
    finishedAt: at,
    conditions: [{ type: "Completed", status: "True" }],
  };
  return [
    ...head(facts),
    { op: "add", path: "/status", value: status },
    ...setAll("/metadata/labels", facts.hasLabels, {
      [`${labelPrefix}phase`]: phase,
      [`${labelPrefix}completed`]: "true",
    }),
  ] as unknown as JsonObject[];
}
