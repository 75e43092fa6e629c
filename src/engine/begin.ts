/** The beginning of a workflow, before its first node: its manifest, its locks, and what it shows once it runs. */
import type { WorkflowTemplate } from "../spec/manifest.ts";
import { ownNames } from "../spec/naming.ts";
import { placeOf } from "../spec/validation/owner.ts";
import { askForLocks, emit, markHeader, markIndex } from "./change.ts";
import { NodeFailure } from "./failure.ts";
import { findStored } from "./stored_manifests.ts";
import { complete, labelPhase, setCondition, workflowHolder } from "./finish.ts";
import { report } from "./life/life.ts";
import { mergedSpec } from "./scope/merged_spec.ts";
import { ownSetting, withGlobals } from "./scope/own_settings.ts";
import { lockKeys, namesLocks } from "./locks/keys.ts";
import { configMapValue } from "./scope/inputs.ts";
import { labelFault, labelText } from "./scope/expressions.ts";
import { GlobalScope } from "./scope/workflow_variables.ts";
import { findInvalidSpec } from "./scope/spec_check.ts";
import { executedSpec, workflowNamespace } from "./state.ts";
import { DEADLINE_TIMER } from "./timers.ts";
import type { Turn } from "./turn.ts";
import { shutdownMessage, workflowDeadline } from "./shutdown/stop_reason.ts";

/** How pods are named: workflow, template and a hash of the node's name. */
const POD_NAME_FORMAT = "v2";

/** What is done once, before the first node. False when that has ended the workflow. */
export function prepare(turn: Turn): boolean {
  const { state } = turn;
  const { header, specs } = state;
  if (header.isPrepared === true) return true;
  const isChecked = state.runtime.isChecked || turn.env.isChecked === true;
  const ref = specs.spec.workflowTemplateRef;
  if (ref !== undefined && specs.storedWorkflowTemplateSpec === undefined) {
    const [kind, namespace, name] = placeOf(ref, workflowNamespace(state));
    const manifest = findStored<WorkflowTemplate>(turn, kind, namespace, name);
    if (manifest === undefined) {
      const resource = `${kind.toLowerCase()}.${turn.env.apiGroup}`;
      complete(turn, "Error", `${resource} "${name}" not found`);
      return false;
    }
    if (!isChecked && !isValid(turn)) return false;
    specs.storedWorkflowTemplateSpec = mergedSpec(specs.spec, manifest.spec);
    state.pending.specs = true;
  } else if (!isChecked && !isValid(turn)) return false;
  try {
    readParameterValues(turn);
  } catch (error) {
    if (!(error instanceof NodeFailure)) throw error;
    complete(turn, "Failed", `failed to set global parameters: ${error.message}`);
    return false;
  }
  applyMetadata(turn);
  header.isPrepared = true;
  markHeader(turn);
  return true;
}

/** False when the workflow has ended because its manifest is not valid. */
function isValid(turn: Turn): boolean {
  const invalid = findInvalidSpec(turn);
  if (invalid !== undefined) complete(turn, "Failed", `invalid spec: ${invalid}`);
  return invalid === undefined;
}

/**
 * Reads the values of arguments that are in ConfigMaps.
 * @throws {NodeFailure} also when an argument has no value at all, as one that somebody should have supplied
 */
function readParameterValues(turn: Turn): void {
  const values: Record<string, string> = {};
  for (const { name, value, valueFrom } of executedSpec(turn.state).arguments?.parameters ?? []) {
    if (value !== undefined) continue;
    const ref = valueFrom?.configMapKeyRef;
    if (ref === undefined) {
      throw new NodeFailure(
        `either value or valueFrom must be specified in order to set global parameter ${name}`,
      );
    }
    let found: string | undefined;
    try {
      found = configMapValue(turn, ref, valueFrom?.default);
    } catch (error) {
      if (!(error instanceof NodeFailure)) throw error;
      throw new NodeFailure(
        `failed to set global parameter ${name} from configmap with name ${
          ref.name ?? ""
        } and key ${ref.key}: ${error.message}`,
      );
    }
    if (found !== undefined) values[name] = found;
  }
  if (Object.keys(values).length === 0) return;
  turn.state.specs.parameterValues = values;
  turn.state.pending.specs = true;
}

/**
 * Sets the labels and annotations that the spec asks for. Expressions of labels see those that were set before them.
 * @throws {ExpressionError} {TemplateError} {NodeFailure} for a value that no label can have
 */
function applyMetadata(turn: Turn): void {
  const { metadata } = turn.state.header;
  const wanted = withGlobals(turn, executedSpec(turn.state).workflowMetadata);
  if (wanted === undefined) return;
  markIndex(turn);
  const labels = metadata.labels = { ...metadata.labels };
  for (const [key, value] of Object.entries(wanted.labels ?? {})) setLabel(labels, key, value);
  if (wanted.annotations !== undefined) {
    metadata.annotations = { ...metadata.annotations, ...wanted.annotations };
  }
  for (const [key, { expression }] of Object.entries(wanted.labelsFrom ?? {})) {
    const value = labelText(key, expression, new GlobalScope(turn), turn.env);
    setLabel(labels, key, value, expression);
  }
}

function setLabel(
  labels: Record<string, string>,
  key: string,
  value: string,
  expression?: string,
): void {
  const fault = labelFault(key, value, expression);
  if (fault !== undefined) throw new NodeFailure(fault);
  labels[key] = value;
}

/** Asks for the locks of the workflow as a whole. True when it has them, or needs none. */
export function holdsLocks(turn: Turn): boolean {
  const { state } = turn;
  const { header } = state;
  if (header.lock?.isHeld === true) return true;
  const synchronization = ownSetting(turn, "synchronization");
  if (!namesLocks(synchronization)) return true;
  const stopped = shutdownMessage(state);
  if (stopped !== undefined) {
    complete(turn, "Failed", stopped);
    return false;
  }
  if (header.lock === undefined) {
    try {
      const keys = lockKeys(turn, synchronization);
      header.lock = { isHeld: false, keys, round: header.sequence++ };
      report(turn, "queued");
      labelPhase(turn, "Pending", false);
      markIndex(turn);
      askForLocks(turn, workflowHolder(turn), keys);
    } catch (error) {
      if (!(error instanceof NodeFailure)) throw error;
      complete(turn, "Failed", `Failed to acquire the synchronization lock. ${error.message}`);
    }
  }
  return false;
}

/** Makes the workflow run: the first time, and after a manual retry. */
export function begin(turn: Turn): void {
  const { header } = turn.state;
  if (header.phase === "Running") return;
  report(turn, "begun");
  header.message = undefined;
  header.startedAt ??= turn.env.now;
  header.hasMoved = true;
  labelPhase(turn, "Running", false);
  // Clients derive the names of pods from this format.
  header.metadata.annotations = {
    ...header.metadata.annotations,
    [ownNames(turn.env).podNameFormat]: POD_NAME_FORMAT,
  };
  setCondition(turn, "PodRunning", "False");
  markIndex(turn);
  const deadline = workflowDeadline(turn);
  if (deadline !== undefined) {
    emit(turn, { type: "set-timer", id: DEADLINE_TIMER, at: deadline });
  }
}
