/** The pod settings of a workflow's spec, as a task gets them. */
import type { WorkflowSpec } from "../../spec/manifest.ts";
import type { TaskSpec } from "../effect.ts";
import type { NodeRecord } from "../records.ts";
import { frameOf, type Work } from "../scope/call.ts";
import { VariablesOfCall } from "../scope/call_variables.ts";
import { mayHoldTag } from "../scope/expressions.ts";
import { fillFor } from "../scope/fill.ts";
import { executedSpec, workflowName } from "../state.ts";
import type { Turn } from "../turn.ts";

/** Members of a spec that become part of pods. The tags in them are replaced for each pod. */
const POD_MEMBERS = [
  "affinity",
  "dnsConfig",
  "hostAliases",
  "imagePullSecrets",
  "nodeSelector",
  "podMetadata",
  "podPriorityClassName",
  "podSpecPatch",
  "schedulerName",
  "securityContext",
  "serviceAccountName",
  "tolerations",
  "volumeClaimTemplates",
  "volumes",
] as const satisfies readonly (keyof WorkflowSpec)[];

/**
 * The spec without its templates. All tasks of a workflow share it, unless it has tags, or the steps or DAG around them say
 * where pods run.
 *
 * @throws {TemplateError}
 */
export function podSpecFor(turn: Turn, node: NodeRecord, work: Work): TaskSpec["podSpec"] {
  const settings = filledSettings(turn, node, work);
  const { boundary } = work.call;
  if (boundary === undefined) return settings;
  const { nodeSelector = {}, affinity, tolerations = [] } = frameOf(turn, boundary).template;
  const isSelected = Object.keys(nodeSelector).length > 0;
  if (!isSelected && affinity === undefined && tolerations.length === 0) return settings;
  return {
    ...settings,
    ...(isSelected && { nodeSelector }),
    ...(affinity !== undefined && { affinity }),
    ...(tolerations.length > 0 && { tolerations }),
  };
}

function filledSettings(turn: Turn, node: NodeRecord, work: Work): TaskSpec["podSpec"] {
  const { value, tagged } = settingsOf(turn);
  if (tagged === undefined) return value;
  const { call, written } = work;
  const variables = new VariablesOfCall(call, written, workflowName(turn.state));
  return { ...value, ...fillFor(turn, tagged, written, node.inputs ?? {}, variables) };
}

function settingsOf(turn: Turn): { value: TaskSpec["podSpec"]; tagged?: Partial<WorkflowSpec> } {
  const { runtime } = turn.state;
  const spec = executedSpec(turn.state);
  if (runtime.podSpec?.of !== spec) {
    const { templates: _templates, ...value } = spec;
    const tagged = POD_MEMBERS.filter((name) => mayHoldTag(spec[name]));
    runtime.podSpec = {
      of: spec,
      value,
      ...(tagged.length === 0
        ? {}
        : { tagged: Object.fromEntries(tagged.map((name) => [name, spec[name]])) }),
    };
  }
  return runtime.podSpec;
}
