/**
 * Patches of Workflow objects of the cluster. Every patch names the version of the object that it is based on, so that only
 * one of two writers succeeds, and the other begins anew.
 */
import type { Json, JsonObject } from "../../base/json.ts";
import type { Workflow, WorkflowSpec } from "../../spec/manifest.ts";
import { ownNames } from "../../spec/naming.ts";
import { type ObjectFacts, RUN_ANNOTATION, type RunNote, switchText } from "./object_facts.ts";

type Operation =
  | { op: "add" | "replace" | "test"; path: string; value: Json }
  | { op: "remove"; path: string };

/** Operations that set labels or annotations, even if there are none yet. */
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
  /** The part of its status that fits, see `fitStatus`. */
  status: JsonObject;
  /** Version of the workflow. */
  version: string;
  store: string;
  labelPrefix: string;
}

/** A JSON patch that shows a workflow's state and switches in its object. */
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

/** Labels or annotations that the service sets: those under its prefix, and those that the spec asks for. */
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

/** A JSON patch that ends an object that never became a workflow, or whose workflow was lost. */
export function endPatch(
  facts: ObjectFacts,
  end: { phase: "Failed" | "Error"; message: string; at: string; labelPrefix: string },
): JsonObject[] {
  const { phase, message, at } = end;
  const names = ownNames(end);
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
      [names.phase]: phase,
      [names.completed]: "true",
    }),
  ] as unknown as JsonObject[];
}
