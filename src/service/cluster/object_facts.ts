/** What is read from a Workflow object of the cluster: whose it is, and what it asks for. */
import { defined } from "../../base/defined.ts";
import { isJsonObject, type JsonObject } from "../../base/json.ts";
import { isCompleted } from "../../engine/records.ts";
import type { ClusterObject } from "../../kubernetes/cluster_object.ts";
import { apiVersionOf, type Naming } from "../../spec/naming.ts";
import { OBJECT_LABEL, SOURCE, SOURCE_LABEL } from "../workflows/object_origin.ts";

/** Annotation that says which store runs the object, and how much of it has been taken over and shown. */
export const RUN_ANNOTATION = "sluice.dev/run";
/** A copy of the whole object, which workflows leave out. */
const LAST_APPLIED = "kubectl.kubernetes.io/last-applied-configuration";

/** What the annotation says. */
export interface RunNote {
  /** The store that runs it. */
  store: string;
  /** `spec.suspend` and `spec.shutdown` as they were last taken over, see `switchText`. */
  spec: string;
  /** Version of the workflow whose state the object shows; "" for none. */
  version: string;
}

/** What is known of an object while it is watched. */
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
  /** It is for another controller. */
  isForeign: boolean;
  isDeleting: boolean;
}

/**
 * Reads an object. Malformed members count as absent.
 * @param labelPrefix of the label that names another controller
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
    isCompleted: isCompleted(phase),
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

/** What somebody has changed in the spec since it was last taken over, as far as a running workflow can be asked for it. */
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

/** What is to be done about an object that was listed but has no workflow. */
export type WithoutWorkflow = "run" | "remove" | "lost" | "leave";

/**
 * An object that this store has never run is to be run. If it ran one to the end, the workflow has been deleted here since, and
 * the object is removed. If it did not, the store has lost the workflow.
 */
export function withoutWorkflow(facts: ObjectFacts, store: string): WithoutWorkflow {
  if (facts.isForeign || facts.isDeleting) return "leave";
  if (facts.run === undefined) return facts.phase === "" ? "run" : "leave";
  if (facts.run.store !== store) return "leave";
  if (facts.phase === "") return "run";
  return facts.isCompleted ? "remove" : "lost";
}

/** The object as a manifest to run, without what concerns only the cluster. */
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
      ...(Object.keys(kept).length > 0 && { annotations: kept }),
      ...defined({ ownerReferences: owners }),
    },
    spec: object.spec ?? {},
  };
}

/** Tells whether a workflow's state may be shown in its object: it is new, or what it asks for has been taken over. */
export function mayShow(facts: ObjectFacts): boolean {
  return facts.run === undefined || isTakenOver(facts);
}

/**
 * Tells whether an earlier leader has claimed an object or shown its state. Changes of its workflow may then have been
 * missed, because the object was not known here yet.
 */
export function mayHaveMissed(
  before: ObjectFacts | undefined,
  { version }: RunNote,
  uid: string,
): boolean {
  return before?.uid === uid ? before.run?.version !== version : version === "";
}
